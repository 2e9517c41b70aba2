package quality

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/internal/cache"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/flag"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Rules are the limits of all checks in a survey. The zero value of a member is
// its default.
type Rules struct {
	flag.Settings
	OutlierZ         float64 `json:"outlierZ,omitzero" doc:"An answer stands out when it lies more than this many robust standard deviations (by MAD) from the median; 3.5 by default."`
	OutlierAnswers   int     `json:"outlierAnswers,omitzero" doc:"Smallest number of answers to a question for the outlier check; 20 by default."`
	DuplicateMetres  float64 `json:"duplicateMetres,omitzero" doc:"Interviews of two households that are no farther apart than this are in the same place; 5 by default."`
	CopiedShare      float64 `json:"copiedShare,omitzero" doc:"Share of equal answers that makes two interviews of a collector copies; 0.95 by default."`
	CopiedHours      float64 `json:"copiedHours,omitzero" doc:"How far apart in time such interviews may be; 24 by default."`
	EffectZ          float64 `json:"effectZ,omitzero" doc:"Lowest score at which a collector stands out from the others; 3 by default. With many comparisons the limit is higher."`
	EffectInterviews int     `json:"effectInterviews,omitzero" doc:"Smallest number of answers of a collector to a question for a comparison; 20 by default."`
}

// WithDefaults fills in the defaults.
func (r Rules) WithDefaults() Rules {
	r.Settings = r.Settings.WithDefaults()
	r.OutlierZ, r.OutlierAnswers = cmp.Or(r.OutlierZ, 3.5), cmp.Or(r.OutlierAnswers, 20)
	r.DuplicateMetres, r.CopiedShare, r.CopiedHours = cmp.Or(r.DuplicateMetres, 5), cmp.Or(r.CopiedShare, 0.95), cmp.Or(r.CopiedHours, 24)
	r.EffectZ, r.EffectInterviews = cmp.Or(r.EffectZ, 3), cmp.Or(r.EffectInterviews, 20)
	return r
}

// on reports whether a check is to be made.
func (r *Rules) on(name string) bool { return !slices.Contains(r.Off, name) }

// Names lists all checks, those of one response first.
func Names() []string {
	return append(flag.Names(), Outlier, Duplicate, Effect, Copied, flag.SensorMismatch)
}

// check names everything that is wrong.
func (r *Rules) check() error {
	var c fault.Checks
	for _, m := range []struct {
		name        string
		value       float64
		least, most float64
	}{
		{"minSeconds", r.MinSeconds, 0, 86_400},
		{"secondsPerAnswer", r.SecondsPerAnswer, 0, 3_600},
		{"nightFrom", orZero(r.NightFrom), 0, 23},
		{"nightTo", orZero(r.NightTo), 0, 23},
		{"maxMetres", r.MaxMetres, 0, 1e7},
		{"sameAnswers", float64(r.SameAnswers), 0, 1_000},
		{"outlierZ", r.OutlierZ, 0, 100},
		{"outlierAnswers", float64(r.OutlierAnswers), 0, 1e6},
		{"duplicateMetres", r.DuplicateMetres, 0, 1_000},
		{"copiedShare", r.CopiedShare, 0, 1},
		{"copiedHours", r.CopiedHours, 0, 720},
		{"effectZ", r.EffectZ, 0, 100},
		{"effectInterviews", float64(r.EffectInterviews), 0, 1e6},
	} {
		if math.IsNaN(m.value) || m.value < m.least || m.value > m.most {
			c.Add("/"+m.name, "out_of_range", fmt.Sprintf("The value must be %g to %g.", m.least, m.most))
		}
	}
	if m := r.UTCOffsetMinutes; m != nil && (*m < -720 || *m > 840) {
		c.Add("/utcOffsetMinutes", "out_of_range", "The value must be -720 to 840.")
	}
	if len(r.Off) > len(Names()) {
		c.Add("/off", "too_many", "There are fewer checks.")
	}
	for i, name := range r.Off[:min(len(r.Off), len(Names()))] {
		if !slices.Contains(Names(), name) {
			c.Add(fmt.Sprintf("/off/%d", i), "unknown", "The value must be one of "+strings.Join(Names(), ", ")+".")
		}
	}
	return c.Err("QUALITY_RULES_INVALID", "The rules are not valid.")
}

func orZero(hour *int) float64 {
	if hour == nil {
		return 0
	}
	return float64(*hour)
}

// RuleRecord is the rules of a survey as they are sent, with every limit.
type RuleRecord struct {
	Rules
	SurveyID  string    `json:"surveyId"`
	Revision  int64     `json:"revision" doc:"0 while the survey has no rules of its own."`
	Updated   time.Time `json:"updated,omitzero"`
	UpdatedBy string    `json:"updatedBy,omitzero"`
}

// RulebookConfig configures a Rulebook. Now and Lease have defaults.
type RulebookConfig struct {
	DB     *db.DB
	Events *event.Log
	Now    func() time.Time
	Lease  *cache.Lease // where other instances change rules too
}

// Rulebook keeps the limits of checks for each survey. It caches them, because
// they are needed for every response.
type Rulebook struct {
	cfg   RulebookConfig
	known *cache.Cache[int64, *ruling] // by number of the survey
}

// ruling is the stored rules of a survey; revision 0 when there are none.
type ruling struct {
	rules    Rules
	revision int64
	updated  int64
	actor    string
}

const maxKnown = 10_000 // surveys

// Topic is the topic under which other processes learn of changes to rules.
const Topic = "rules"

// NewRulebook makes a Rulebook.
func NewRulebook(cfg RulebookConfig) *Rulebook {
	cfg.Now = db.Clock(cfg.DB, cfg.Now)
	return &Rulebook{cfg: cfg, known: cache.New[int64](cache.Config[*ruling]{Topic: Topic, Lease: cfg.Lease, Limit: maxKnown, Weigh: func(*ruling) int { return 1 }})}
}

// Settings returns the limits of the checks of one response, for
// response.Config.Settings.
func (b *Rulebook) Settings(ctx context.Context, o *survey.Open) (flag.Settings, error) {
	r, err := b.of(ctx, o)
	return r.rules.Settings, err
}

// Flush drops the cache, because changes by other instances may have been
// missed.
func (b *Rulebook) Flush() { b.known.Flush() }

// Forget drops the cache of one workspace.
func (b *Rulebook) Forget(ws string) { b.known.Drop(ws) }

// of returns the rules of a survey, from the cache if possible.
func (b *Rulebook) of(ctx context.Context, o *survey.Open) (ruling, error) {
	if r := b.known.Get(o.Workspace, o.NID); r != nil {
		return *r, nil
	}
	gen := b.known.Begin(o.Workspace)
	r, err := findRules(ctx, b.cfg.DB, o)
	if err == nil {
		b.known.Put(o.Workspace, o.NID, &r, gen)
	}
	return r, err
}

// put replaces the rules of a survey. Faults: QUALITY_RULES_INVALID, and those
// of web.CheckMatch when the survey has rules.
func (b *Rulebook) put(ctx context.Context, o *survey.Open, ifMatch string, next Rules) (ruling, error) {
	r := ruling{rules: next, actor: web.CallerFrom(ctx).DID, updated: b.cfg.Now().UnixMilli()}
	if err := next.check(); err != nil {
		return r, err
	}
	err := b.cfg.DB.InTx(ctx, func(tx *db.Tx) error {
		old, err := findRules(ctx, tx, o)
		if err != nil {
			return err
		}
		// Every survey has rules, its own or the usual ones, which are revision 0: * is
		// always right.
		usual := old.revision == 0 && (ifMatch == "" || ifMatch == web.ETag(0))
		if ifMatch != "*" && !usual {
			if err := web.CheckMatch(ifMatch, old.revision); err != nil {
				return err
			}
		}
		r.revision = old.revision + 1
		if err := storeRules(ctx, tx, o, r); err != nil {
			return err
		}
		tx.AfterCommit(func() { b.Forget(o.Workspace) })
		tx.Changed(Topic, o.Workspace)
		return b.cfg.Events.Append(ctx, tx, event.Event{Workspace: o.Workspace, Type: "survey.quality_rules_updated", Subject: o.SurveyID, Revision: r.revision})
	})
	return r, err
}

func (r ruling) record(o *survey.Open) *RuleRecord {
	return &RuleRecord{Rules: r.rules.WithDefaults(), SurveyID: o.SurveyID, Revision: r.revision, UpdatedBy: r.actor, Updated: timeOf(r.updated)}
}
