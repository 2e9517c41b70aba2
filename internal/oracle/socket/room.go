package socket

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/hearth-dmrv/hearth/internal/socketio"
)

// room is a session that has sockets here.
type room struct {
	session string
	user    string
	members map[*member]struct{}
	calls   map[*call]struct{} // that wait for one of the members; nil until there is one
}

// expect notes a call that waits. The caller holds mu of the register.
func (r *room) expect(c *call) {
	if r.calls == nil {
		r.calls = map[*call]struct{}{}
	}
	r.calls[c] = struct{}{}
}

// presence is what a user has on this instance.
type presence struct{ sockets, rooms int }

// member is a socket whose tokens were checked.
type member struct {
	socket *socketio.Socket
	user   string
	home   string // the session of its handshake
	misses int    // sessions it asked for in vain; only its handlers touch it
	subs   []subscription

	until    time.Time                       // the end of its tokens; zero means none
	part     bool                            // see Guest
	check    func(ctx context.Context) error // nil: there is nothing to check
	due      time.Time                       // when to look at it again; under mu of watch, like the rest
	place    int                             // in visits, from 1; 0 is not there
	checking bool
}

// subscription is a session a socket listens to, and the events it wants; nil
// means all.
type subscription struct {
	session string
	events  []string
}

func (s subscription) wants(event string) bool {
	return s.events == nil || slices.Contains(s.events, filterName(event))
}

func (s subscription) rooms() []string {
	if s.events == nil {
		return []string{s.session}
	}
	out := make([]string, len(s.events))
	for i, event := range s.events {
		out[i] = filteredRoom(s.session, event)
	}
	return out
}

func (m *member) find(session string) int {
	return slices.IndexFunc(m.subs, func(s subscription) bool { return s.session == session })
}

// joining is a socket that is about to join a session. Between the check of the
// session's owner and the join, the session may be deleted.
type joining struct {
	session string
	gone    bool
}

// register records which sockets listen to which sessions, and which calls wait
// for their pages.
type register struct {
	*post
	count counters

	mu      sync.Mutex           // nothing is sent while it is held
	rooms   map[string]*room     // by session; those with members
	users   map[string]*presence // those with sockets
	joining map[*joining]struct{}
	calls   map[string]*call
	peers   map[string]struct{} // known instances
	notes   []note              // to be sent once mu is free
}

func newRegister(p *post) *register {
	return &register{
		post: p, rooms: map[string]*room{}, users: map[string]*presence{},
		joining: map[*joining]struct{}{}, calls: map[string]*call{}, peers: map[string]struct{}{},
	}
}

// locked runs f under the lock and sends the notes it left.
func (rg *register) locked(f func()) {
	rg.mu.Lock()
	f()
	notes := rg.notes
	rg.notes = nil
	rg.mu.Unlock()
	for _, n := range notes {
		rg.tell(n)
	}
}

func (rg *register) beginJoin(session string) *joining {
	j := &joining{session: session}
	rg.mu.Lock()
	defer rg.mu.Unlock()
	rg.joining[j] = struct{}{}
	return j
}

func (rg *register) endJoin(j *joining) {
	rg.mu.Lock()
	defer rg.mu.Unlock()
	delete(rg.joining, j)
}

// inhabited reports whether sockets of a user are in a session here.
func (rg *register) inhabited(user, session string) bool {
	rg.mu.Lock()
	defer rg.mu.Unlock()
	r := rg.rooms[session]
	return r != nil && r.user == user
}

// enter counts a new member and subscribes it to its home. The caller holds mu.
func (rg *register) enter(m *member) {
	p := rg.users[m.user]
	if p == nil {
		p = &presence{}
		rg.users[m.user] = p
	}
	p.sockets++
	rg.subscribe(m, m.home, nil)
}

// subscribe subscribes a member to a session, or changes its events. The socket
// joins under the lock, so a session that is deleted meanwhile is left again in
// any case. The caller holds mu.
func (rg *register) subscribe(m *member, session string, events []string) {
	one := subscription{session, events}
	if i := m.find(session); i >= 0 {
		m.socket.Leave(m.subs[i].rooms()...)
		m.subs[i] = one
		m.socket.Join(one.rooms()...)
		rg.look(rg.rooms[session])
		return
	}
	r := rg.rooms[session]
	if r == nil {
		r = &room{session: session, user: m.user, members: map[*member]struct{}{}}
		rg.rooms[session] = r
		rg.users[m.user].rooms++
	}
	r.members[m] = struct{}{}
	m.subs = append(m.subs, one)
	m.socket.Join(one.rooms()...)
}

// unsubscribe ends a member's subscription to a session. The caller holds mu.
func (rg *register) unsubscribe(m *member, session string) {
	i := m.find(session)
	if i < 0 {
		return
	}
	m.socket.Leave(m.subs[i].rooms()...)
	m.subs = slices.Delete(m.subs, i, i+1)
	r := rg.rooms[session]
	delete(r.members, m)
	rg.look(r)
	if len(r.members) == 0 {
		delete(rg.rooms, session)
		rg.users[r.user].rooms--
	}
}

// left forgets a member whose socket has ended.
func (h *Hub) left(m *member) {
	h.locked(func() {
		h.watch.remove(m)
		for len(m.subs) > 0 {
			h.unsubscribe(m, m.subs[0].session)
		}
		p := h.users[m.user]
		if p.sockets--; p.sockets == 0 {
			delete(h.users, m.user)
		}
	})
}

// listens reports whether there is a page here that receives an event.
func (r *room) listens(event string) bool {
	for m := range r.members {
		if i := m.find(r.session); i >= 0 && m.subs[i].wants(event) && !m.over() {
			return true
		}
	}
	return false
}

// over reports whether the socket has ended, even if its handler was not called
// yet.
func (m *member) over() bool {
	select {
	case <-m.socket.Done():
		return true
	default:
		return false
	}
}

// DisconnectSession removes the sockets from a deleted session, on all
// instances, and fails the calls that wait for its pages. Sockets that
// connected for this session are disconnected, and their clients do not
// reconnect.
func (h *Hub) DisconnectSession(user, session string) {
	h.drop(user, session)
	h.tell(note{Kind: noteDrop, User: user, Session: session})
}

// drop is DisconnectSession on this instance.
func (h *Hub) drop(user, session string) {
	if h.inhabited(user, session) {
		gone := invalidation{Session: session, RequestID: "", Status: statusDone}
		if raw, err := object(session, gone); err == nil {
			h.deliver(session, eventInvalidation, raw)
		}
	}
	var leaving []*member
	h.locked(func() {
		for j := range h.joining {
			j.gone = j.gone || j.session == session
		}
		for _, c := range h.calls {
			if c.session == session && c.user == user && c.origin == "" {
				h.finish(c, failed(textDeleted))
			}
		}
		r := h.rooms[session]
		if r == nil || r.user != user {
			return
		}
		for m := range r.members {
			if m.home == session {
				leaving = append(leaving, m)
			} else {
				h.unsubscribe(m, session)
			}
		}
	})
	for _, m := range leaving {
		m.socket.Disconnect()
	}
}

// checkAll drops the sessions that no longer belong to their users, because
// notes about deletions by other instances may have been lost.
func (h *Hub) checkAll() {
	type key struct{ user, session string }
	var all []key
	h.locked(func() {
		for session, r := range h.rooms {
			all = append(all, key{r.user, session})
		}
	})
	for _, k := range all {
		if h.closed.Load() {
			return
		}
		if owned, err := h.owns(k.user, k.session); err == nil && !owned {
			h.drop(k.user, k.session)
		}
	}
}
