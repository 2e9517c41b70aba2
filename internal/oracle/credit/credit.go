// Package credit is the plugin credits: answers for users who have paid for them,
// with a ledger of its own. It is off unless the operator enables it.
//
// It promises that an answer begins only when its user has an active account with
// enough free credits: they are held back until the answer has ended, so no two
// answers are admitted on the same credits; that the answer is then charged once,
// whatever is sent or begun again; and that every change of an account is a
// permanent entry. When the ledger cannot be read, nobody is admitted. An admitted
// answer is given whole: one that costs more than was held back takes the balance
// below zero, and the next is refused until the user has topped up.
package credit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/cache"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/oracle/chat"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/internal/web"
	"github.com/hearth-dmrv/hearth/plugin"
)

// What users are told; published clients know the texts.
const (
	textInactive = "User has inactive subscription, please subscribe to continue"
	textFew      = "User has less than %d credits, please top up to continue"
	textNone     = "No subscription found, please subscribe to continue"
)

// The states of an account.
const (
	active   = "active"
	inactive = "inactive"
)

// spare is how long after the longest answer a hold expires: that of an answer
// whose server died.
const spare = time.Minute

// maxSeen is of how many accounts a server knows how it left them.
const maxSeen = 10_000

// Config configures a Plugin.
type Config struct {
	DB      *db.DB
	Cursors web.Cursors
	Idem    *once.Store
	Longest time.Duration    // of an answer
	Now     func() time.Time // the clock of the store by default
}

// Plugin is the plugin credits, and the ledger behind it.
type Plugin struct {
	cfg      Config
	log      *slog.Logger
	minimum  int64 // what must be left for an answer to begin, and is held back for it
	perToken int64 // credits for a thousand tokens
	perCost  int64 // credits per unit of the cost that the model's server states; 0 counts tokens
	// seen are accounts as they were last stored here. They are looked at, never
	// trusted: an account is changed only if it still is so.
	seen *cache.Cache[string, *account]
}

var (
	_ plugin.Starts   = (*Plugin)(nil)
	_ plugin.Settings = (*Plugin)(nil)
	_ plugin.Routes   = (*Plugin)(nil)
)

// New makes the plugin.
func New(c Config) *Plugin {
	c.Now = db.Clock(c.DB, c.Now)
	return &Plugin{cfg: c, log: slog.New(slog.DiscardHandler), seen: cache.New[string](cache.Config[*account]{
		Topic: "", Lease: nil, // what others change is found when it is compared
		Limit: maxSeen, Weigh: func(*account) int { return 1 },
	})}
}

// Manifest describes the plugin.
func (p *Plugin) Manifest() plugin.Manifest {
	return plugin.Manifest{
		Name: "credits", Version: "1.0.0", Title: "Credits", Summary: "Answers only users who have credits, and charges for what answers use.",
		Tags: []string{"billing"}, Visibility: plugin.Silent, OptIn: true,
	}
}

// Settings are the prices.
func (p *Plugin) Settings() []plugin.Setting {
	return []plugin.Setting{
		{Name: "minimum", Kind: plugin.Integer, Default: "10", Min: 1, Max: 1_000_000, Doc: "Credits that an account needs for an answer to begin; they are held back for it."},
		{Name: "perThousandTokens", Kind: plugin.Integer, Default: "1", Min: 0, Max: 1_000_000, Doc: "Credits for a thousand tokens, rounded up."},
		{Name: "perCost", Kind: plugin.Integer, Default: "0", Min: 0, Max: 1_000_000_000, Doc: "Credits for one unit of the cost that the model's server reports, charged in place of tokens when it does; 0 charges for tokens."},
	}
}

// Start reads the settings.
func (p *Plugin) Start(_ context.Context, host plugin.Host) error {
	p.log = host.Log
	v := host.Settings
	p.minimum, p.perToken, p.perCost = int64(v.Int("minimum")), int64(v.Int("perThousandTokens")), int64(v.Int("perCost"))
	return nil
}

// Routes show users their credits.
func (p *Plugin) Routes() []plugin.Route {
	return []plugin.Route{{
		Method: "GET", Path: "/credits", Personal: true, Summary: "Read how many credits you have", Answer: api.Credits{},
		Serve: func(r *plugin.Request) (any, error) {
			who, err := holderOf(r.Context())
			if err != nil {
				return nil, err
			}
			out := api.Credits{Status: "none", Minimum: p.minimum}
			a, err := findAccount(r.Context(), p.cfg.DB, who, p.now())
			if err == nil {
				out.Status, out.Balance, out.Held = a.Status, a.Balance, a.Held
			} else if !errors.Is(err, errNone) {
				return nil, err
			}
			return out, nil
		},
	}}
}

// holder is whose an account is. All keys of a principal have one.
type holder struct{ workspace, did string }

func holderOf(ctx context.Context) (holder, error) {
	c := tool.From(ctx)
	if c.Talker == "" {
		return holder{}, &plugin.Error{Status: http.StatusForbidden, Message: "The request has no user whose credits could be read."}
	}
	return talking(c.Talker), nil
}

// talking is the holder behind the name of a talker.
func talking(user string) holder {
	t := chat.TalkerOf(user)
	return holder{t.In(), t.DID}
}

// Hold holds credits back for a run, in the transaction in which it begins, or refuses
// the run and stores nothing.
func (p *Plugin) Hold(ctx context.Context, tx *db.Tx, turn plugin.Turn) error {
	who, err := holderOf(ctx)
	if err != nil {
		return refusal(textNone)
	}
	_, err = p.alter(ctx, tx, who, func(a *account) error {
		if err := p.judge(a); err != nil {
			return err
		}
		until := p.cfg.Now().Add(p.cfg.Longest + spare).UnixMilli()
		a.holds = append(a.holds.without(a.holds.of(turn.RunID)), hold{turn.RunID, p.minimum, until})
		return nil
	})
	if errors.Is(err, errNone) {
		return refusal(textNone)
	}
	return err
}

// alter changes an account by a rule. It first assumes the state last seen here,
// which needs no read; if somebody has changed the account since, it reads and locks
// it. Only then a refusal of the rule counts.
func (p *Plugin) alter(ctx context.Context, tx *db.Tx, who holder, rule func(*account) error) (account, error) {
	now := p.now()
	if was := p.seen.Get(who.workspace, who.did); was != nil {
		a := *was
		a.holds = slices.Clone(was.holds)
		a.end(now)
		if rule(&a) == nil {
			if ok, err := a.swap(ctx, tx, who, was, now); ok || err != nil {
				p.leave(tx, who, a)
				return a, err
			}
		}
	}
	a, err := lockAccount(ctx, tx, who, now)
	if err == nil {
		err = rule(&a)
	}
	if err != nil {
		return a, err
	}
	p.leave(tx, who, a)
	return a, a.change(ctx, tx, who, now)
}

// leave notes how a transaction has left an account, once it is stored.
func (p *Plugin) leave(tx *db.Tx, who holder, a account) {
	a.locked = false
	gen := p.seen.Begin(who.workspace)
	tx.AfterCommit(func() { p.seen.Put(who.workspace, who.did, &a, gen) })
}

// judge refuses one whose account does not do.
func (p *Plugin) judge(a *account) error {
	switch {
	case a.Status != active:
		return refusal(textInactive)
	case a.Balance-a.Held < p.minimum:
		return refusal(fmt.Sprintf(textFew, p.minimum))
	}
	return nil
}

// refusal is the answer of who has to pay first: claims is what the published
// clients open their page for paying on.
func refusal(text string) error {
	return &plugin.Error{Status: http.StatusPaymentRequired, Message: text, Members: map[string]any{"claims": []string{}, "outstandingClaims": []string{}}}
}

// Charge returns what was held for a run and charges what it has used, in the
// transaction in which it ends; nil: nothing. A run is charged once.
func (p *Plugin) Charge(ctx context.Context, tx *db.Tx, turn plugin.Turn, used *plugin.Usage) (credits int64, err error) {
	who, err := holderOf(ctx)
	if err != nil {
		return 0, err
	}
	if used != nil {
		credits = p.price(*used)
	}
	a, err := p.alter(ctx, tx, who, func(a *account) error {
		at := a.holds.of(turn.RunID)
		if at < 0 && credits != 0 {
			if err := p.uncharged(ctx, tx, a, who, turn.RunID); err != nil {
				return err
			}
		}
		a.holds = a.holds.without(at)
		a.Balance -= credits
		return nil
	})
	switch {
	case errors.Is(err, errNone): // erased meanwhile, and the hold with it
		return 0, nil
	case errors.Is(err, errCharged):
		return credits, nil
	case err != nil || credits == 0:
		return credits, err
	}
	return credits, p.enterCharge(ctx, tx, who, cost{turn.RunID, credits, a.Balance})
}

// Release returns what was held for a run whose server died.
func (p *Plugin) Release(ctx context.Context, user, run string) error {
	err := p.cfg.DB.InTx(ctx, func(tx *db.Tx) error {
		_, err := p.alter(ctx, tx, talking(user), func(a *account) error {
			a.holds = a.holds.without(a.holds.of(run))
			return nil
		})
		return err
	})
	if errors.Is(err, errNone) {
		return nil
	}
	return err
}

// uncharged returns an error for a run that was charged before: then nothing is held
// back for it, as for one that has lasted too long. If the account is not locked the
// answer is unknown.
func (p *Plugin) uncharged(ctx context.Context, tx *db.Tx, a *account, who holder, run string) error {
	if !a.locked {
		return errUnlocked
	}
	before, err := p.charged(ctx, tx, who, run)
	if err == nil && before {
		err = errCharged
	}
	return err
}

// price is what an answer costs.
func (p *Plugin) price(used plugin.Usage) int64 {
	if p.perCost > 0 && used.Cost > 0 {
		return int64(min(used.Cost*float64(p.perCost)+0.999999, 1e15))
	}
	return (int64(used.Input+used.Output)*p.perToken + 999) / 1000
}

func (p *Plugin) now() int64 { return p.cfg.Now().UnixMilli() }
