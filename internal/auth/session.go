package auth

import (
	"context"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// How long a session of a browser lives: without a request, and in all.
const (
	SessionIdle = 12 * time.Hour
	SessionLife = 7 * 24 * time.Hour
)

// seenEvery is how exact the time of the last request is that is stored.
const seenEvery = 5 * time.Minute

// Session is the session of a browser, with what identifies it in the store.
type Session struct {
	api.Session
	workspace string
	hash      Digest
}

// ends is when the session is over unless it is used.
func (s *Session) ends() time.Time {
	return earlier(s.SeenAt.Add(SessionIdle), s.CreatedAt.Add(SessionLife))
}

// Opening is a session that was just opened. Text is the content of its cookie.
type Opening struct {
	Session Session
	Caller  web.Caller
	Text    string
}

// Sessions opens and ends the sessions of browsers. Make one with
// Service.Sessions.
type Sessions struct{ s *Service }

// Sessions returns the service's Sessions.
func (s *Service) Sessions() Sessions { return Sessions{s} }

// SignIn opens a session for the text of a key. The faults are those of the
// gate, whose limit on wrong keys applies.
func (d Sessions) SignIn(r *http.Request, text string) (Opening, error) {
	g, err := d.s.authenticate(r.Context(), text)
	if err != nil {
		return Opening{}, err
	}
	return d.open(r, g)
}

// open opens a session on what a key may do.
func (d Sessions) open(r *http.Request, g *grant) (Opening, error) {
	ctx := r.Context()
	if g.replaced {
		return Opening{}, fault.New(fault.Unauthenticated, "KEY_REPLACED", "This key was replaced by a new one. Sign in with the new one.")
	}
	if !g.allows(web.ClientAddr(ctx)) {
		return Opening{}, networkForbidden()
	}
	if err := d.s.requests.Allow(g.caller.Key).Err(); err != nil {
		return Opening{}, err
	}
	text, now := base64.RawURLEncoding.EncodeToString(random(32)), d.s.moment()
	v := Session{workspace: g.caller.Workspace, hash: digest(text), Session: api.Session{
		ID: "ses_" + d.s.cfg.NewID(), Key: g.caller.Key, Principal: g.caller.DID, CreatedAt: now, SeenAt: now, Current: true,
		Address: web.ClientAddr(ctx).String(), Agent: cut(r.UserAgent(), 200),
	}}
	v.EndsAt = v.ends()
	err := d.s.db.InTx(ctx, func(tx *db.Tx) error {
		k, err := findKey(ctx, tx, v.workspace, v.Key)
		if err != nil {
			return err
		}
		v.Name = k.Name
		if err := insertSession(ctx, tx, &v); err != nil {
			return err
		}
		return endOldest(ctx, tx, v.workspace, v.Key)
	})
	if err != nil {
		return Opening{}, err
	}
	c := g.caller
	c.Session = v.ID
	return Opening{Session: v, Caller: c, Text: text}, nil
}

// cut keeps the beginning of a text, at most n bytes of it, without invalid
// UTF-8.
func cut(text string, n int) string {
	text = fault.Echo(text)
	return strings.ToValidUTF8(text[:min(len(text), n)], "")
}

// Find returns the open session of r and its caller; nil without one.
func (d Sessions) Find(r *http.Request) (*Session, web.Caller, error) {
	c, err := d.s.identify(r, nil)
	if err != nil || c.Session == "" {
		if k := fault.KindOf(err); err != nil && (k == fault.Internal || k == fault.Unavailable || k == fault.TooMany) {
			return nil, c, err
		}
		return nil, web.Caller{}, nil
	}
	v, err := findSession(r.Context(), d.s.db, c.Workspace, c.Session)
	if v != nil {
		v.EndsAt, v.Current = v.ends(), true
	}
	return v, c, err
}

// End ends a session of the caller's workspace: the caller's own, or one whose
// key the caller may decide about. SESSION_NOT_FOUND for others.
func (d Sessions) End(ctx context.Context, id string) (Session, error) {
	c := web.CallerFrom(ctx)
	return inTx(ctx, d.s.db, func(tx *db.Tx) (Session, error) {
		v, err := findSession(ctx, tx, c.Workspace, id)
		if err != nil {
			return Session{}, err
		}
		own := v != nil && c.Key != "" && v.Key == c.Key
		if v == nil || !own && !May(c, "keys:read") {
			return Session{}, fault.New(fault.NotFound, "SESSION_NOT_FOUND", "There is no such session.")
		}
		if !own {
			if err := d.mayEnd(ctx, tx, c, v.Key); err != nil {
				return Session{}, err
			}
		}
		v.EndsAt, v.Current = d.s.moment(), v.ID == c.Session
		return *v, removeSession(ctx, tx, v.hash)
	})
}

// mayEnd reports whether the caller may end the sessions of a key that is not
// its own.
func (d Sessions) mayEnd(ctx context.Context, tx *db.Tx, c web.Caller, key string) error {
	if !May(c, "keys:write") {
		return scopeMissing("keys:write")
	}
	k, err := findKey(ctx, tx, c.Workspace, key)
	if err != nil {
		return err
	}
	return d.s.decides(ctx, tx, c, k, "path/id")
}

// List returns at most limit open sessions of the caller's workspace, by id,
// after the one with id last; next is where the list continues, nil at its end.
// Without keys:read they are the caller's own.
func (d Sessions) List(ctx context.Context, last string, limit int) (list []Session, next any, err error) {
	c, key := web.CallerFrom(ctx), ""
	if !May(c, "keys:read") || len(c.Projects) > 0 {
		if key = c.Key; key == "" {
			return nil, nil, nil // a token opens no session
		}
	}
	list, err = listSessions(ctx, d.s.db, sessionQuery{workspace: c.Workspace, key: key, after: last, limit: limit + 1})
	if err != nil {
		return nil, nil, err
	}
	if len(list) > limit {
		list = list[:limit]
		next = list[limit-1].ID
	}
	now := d.s.now()
	for i := range list {
		list[i].EndsAt, list[i].Current = list[i].ends(), list[i].ID == c.Session
	}
	return slices.DeleteFunc(list, func(v Session) bool { return !now.Before(v.EndsAt) }), next, nil
}

// Expire removes sessions that were last used before a moment, at most limit of
// them.
func (d Sessions) Expire(ctx context.Context, before time.Time, limit int) (int, error) {
	return expireSessions(ctx, d.s.db, before, d.s.now(), limit)
}

// bySession finds what the key of the session may do that r comes with, and the
// session. The fault is KEY_MISSING when r has none that counts.
func (gt *gate) bySession(r *http.Request) (*grant, string, error) {
	text := web.SessionText(r)
	if text == "" {
		return nil, "", keyMissing()
	}
	ctx, now := r.Context(), gt.now()
	v, err := sessionOf(ctx, gt.db, digest(text))
	if err != nil {
		return nil, "", err
	}
	if v == nil || !now.Before(v.ends()) {
		return nil, "", sessionEnded()
	}
	gt.stamp.check(gt.cache.flush)
	g, err := gt.byID(ctx, v.workspace, v.Key, false)
	switch {
	case fault.KindOf(err) == fault.Unauthenticated:
		return nil, "", sessionEnded()
	case err != nil:
		return nil, "", err
	case g.replaced || g.expired(now):
		return nil, "", sessionEnded()
	}
	if now.Sub(v.SeenAt) >= seenEvery {
		err = gt.db.InTx(ctx, func(tx *db.Tx) error { return touchSession(ctx, tx, v.hash, now) })
	}
	return g, v.ID, err
}

func sessionEnded() error {
	return fault.New(fault.Unauthenticated, "SESSION_ENDED", "Your session has ended. Sign in again.")
}
