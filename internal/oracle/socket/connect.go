package socket

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	jsonx "github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/socketio"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Why handshakes are refused, apart from bad tokens.
var (
	errNoSession = fault.New(fault.Invalid, "SESSION_MISSING", "The query parameter sessionId is missing")
	errNotFound  = fault.New(fault.NotFound, "SESSION_NOT_FOUND", "Session not found")
	errBadAuth   = fault.New(fault.Unauthenticated, "UCAN_INVALID", "Invalid UCAN invocation")
	errCrowded   = fault.New(fault.TooMany, "TOO_MANY_SOCKETS", "Too many connections")
)

// retries are the pauses before repeating a check that failed for technical
// reasons, because a refused client does not come back.
var retries = [...]time.Duration{250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second}

// addresses counts connections by address.
type addresses struct {
	most int // from one address; 0: any number
	mu   sync.Mutex
	open map[string]int
}

// admit counts a connection, and refuses one too many.
func (a *addresses) admit(r *http.Request) (release func(), err error) {
	if a.most == 0 {
		return nil, nil
	}
	name := addrName(r)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open[name] >= a.most {
		return nil, errCrowded
	}
	a.open[name]++
	return func() { a.release(name) }, nil
}

func (a *addresses) release(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open[name]--; a.open[name] == 0 {
		delete(a.open, name)
	}
}

// addrName is under which name connections count.
func addrName(r *http.Request) string {
	if a := web.ClientAddr(r.Context()); a.IsValid() {
		return web.AddrName(a)
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// connect checks a client that has connected. Its packets wait meanwhile. A
// refused one is told why and disconnected, as in the original.
func (h *Hub) connect(ctx context.Context, s *socketio.Socket, hs socketio.Handshake) error {
	ctx, cancel := context.WithTimeout(ctx, handshakeTime)
	defer cancel()
	err := h.accept(ctx, s, hs)
	if err == nil {
		h.count.admitted.Add(1)
		return nil
	}
	h.count.refused.Add(1)
	h.cfg.Log.DebugContext(ctx, "socket refused", "code", fault.CodeOf(err), "err", err.Error())
	_ = s.Emit(eventException, newException("connection", shown(err))) // it may have left
	s.Close()
	return err
}

// shown is what a client may know of an error.
func shown(err error) string {
	if f := fault.As(err); f != nil && f.Kind != fault.Internal {
		return f.Message
	}
	return internalText
}

func (h *Hub) accept(ctx context.Context, s *socketio.Socket, hs socketio.Handshake) error {
	session := hs.Query.Get("sessionId")
	if session == "" || len(session) > maxSessionID {
		return errNoSession
	}
	var auth struct {
		Invocation string `json:"invocation"`
		Delegation string `json:"ucanDelegation"`
	}
	if err := jsonx.Unmarshal(hs.Auth, &auth); err != nil {
		return errBadAuth.Wrap(err)
	}
	var who Guest
	err := again(ctx, func() (err error) {
		who, err = h.cfg.Handshake(ctx, strings.TrimSpace(auth.Invocation), strings.TrimSpace(auth.Delegation))
		return err
	})
	if err != nil {
		return err
	}
	j := h.beginJoin(session)
	defer h.endJoin(j)
	if err := h.checkOwner(ctx, who.User, session); err != nil {
		return err
	}
	return h.letIn(ctx, &member{socket: s, user: who.User, home: session, until: who.Until, part: who.Part, check: who.Check}, j)
}

// checkOwner refuses a session that does not exist or belongs to somebody else.
func (h *Hub) checkOwner(ctx context.Context, user, session string) error {
	var owned bool
	err := again(ctx, func() (err error) {
		owned, err = h.cfg.Owns(ctx, user, session)
		return err
	})
	if err == nil && !owned {
		return errNotFound
	}
	return err
}

// letIn makes a socket a member. Nothing after that can fail.
func (h *Hub) letIn(ctx context.Context, m *member, j *joining) error {
	m.socket.OnOther(page{h, m}.handle)
	m.socket.OnDisconnect(func(socketio.Reason) { h.left(m) })
	if err := h.claim(ctx, m, j); err != nil {
		return err
	}
	_ = m.socket.Emit(eventConnected, connected{"Connected successfully", m.home, h.stamp()}) // it may have left; then left is called
	return nil
}

// claim gives a member its place if there is one.
func (h *Hub) claim(ctx context.Context, m *member, j *joining) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.users[m.user]
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case j.gone:
		return errNotFound
	case p != nil && h.cfg.MaxPerUser > 0 && p.sockets >= h.cfg.MaxPerUser:
		return errCrowded
	}
	h.enter(m)
	h.watch.add(m)
	return nil
}

// again calls f until it succeeds, fails for a reason that will not pass, or
// has failed too often.
func again(ctx context.Context, f func() error) error {
	for _, pause := range retries {
		err := f()
		if err == nil || !passing(err) {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
	}
	return f()
}

// passing reports whether an error may be gone in a moment.
func passing(err error) bool {
	kind := fault.KindOf(err)
	return (kind == fault.Internal || kind == fault.Unavailable) && !errors.Is(err, context.Canceled)
}
