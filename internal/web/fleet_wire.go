package web

import (
	"maps"
	"strconv"
	"strings"
	"time"
)

// Messages are words separated by blanks: the server, the number of the message, flags,
// and then the content. @server=n confirms messages of a server up to n; a plain word is
// a limiter, a following hash:n means that n tokens were spent since, and hash=n that n
// are spent in all. Messages that only confirm have the number 0.
const (
	flagNone  = "-"
	flagBye   = "b" // the server stops
	flagState = "s" // it says all that is spent: whatever was lost before does not matter
	flagShare = "x" // and the server gives its share meanwhile
	flagAsk   = "a" // the others are to send theirs
	flagHurry = "!" // it is to be confirmed at once

	// fleetMessage is how many names one message has at most, so that it is well below the
	// limit of a bus.
	fleetMessage = 1000
	// fleetState is in how many messages at most a server says all that is spent. Of more names,
	// which only a flood has, it leaves some out.
	fleetState = 32
	// fleetTold is the part of a limit below which what a name has spent is not worth saying
	// to a server that has just begun.
	fleetTold = 16
)

// flush sends what there is to say.
func (f *Fleet) flush() {
	f.mu.Lock()
	out, ask, tell, lost, waited, peers := f.out, f.ask, f.tell, f.lost, f.waited, len(f.peers)
	f.out, f.ask, f.tell, f.lost = tokens{}, false, false, false
	f.mu.Unlock()
	if peers == 0 { // there is no other server left
		f.landed(out)
		f.wake()
		if out = nil; !ask && !tell {
			return
		}
	}
	if lost {
		f.doubt()
	}
	var all []letter
	for _, piece := range pieces(out) {
		all = append(all, letter{numbered: true, spent: piece, sign: ":"})
	}
	if tell {
		all = append(all, f.state()...)
	}
	f.mu.Lock()
	if waited && len(all) == 0 && f.hurried < f.last && len(f.sent) > 0 {
		all = append(all, letter{numbered: true}) // it is on its way, and nothing is urgent
	}
	if len(all) == 0 {
		all = append(all, letter{})
	}
	first, final := &all[0], &all[len(all)-1]
	if ask {
		first.flags += flagAsk
	}
	if waited || tell {
		final.flags += flagHurry
	}
	first.confirm = f.confirmations()
	f.mu.Unlock()
	for i := range all {
		if all[i].numbered || all[i].flags != "" || all[i].confirm != "" {
			f.send(&all[i])
		}
	}
}

// doubt takes what others have not confirmed as something that each of them has spent too: some
// of them have lost it, and of two that have both lost something the larger count is kept.
func (f *Fleet) doubt() {
	f.mu.Lock()
	for i := range f.sent {
		f.sent[i].what = nil
	}
	f.mu.Unlock()
	others := f.others()
	for _, l := range f.all() {
		l.assume(others, false)
	}
}

// confirmations confirms what was received since the last time. A server that gives only
// its share confirms greetings of those that do so too: the others do not know what it
// gives, and must not continue as if they did. The caller has the lock.
func (f *Fleet) confirmations() string {
	var b strings.Builder
	silent := f.silent.Load()
	for name, p := range f.peers {
		n := p.last
		if silent {
			n = p.greeting
		}
		if p.confirms && !p.torn && n > 0 {
			b.WriteString(" @" + name + "=" + strconv.FormatUint(n, 36))
		}
		p.confirms = p.confirms && silent && n < p.last
	}
	return b.String()
}

// letter is a message that is written.
type letter struct {
	numbered bool
	flags    string
	confirm  string
	spent    tokens
	sign     string // between a name and its tokens
}

// send publishes a message.
func (f *Fleet) send(m *letter) {
	var n uint64
	if m.numbered {
		f.mu.Lock()
		f.last++
		n = f.last
		what := m.spent
		if m.sign != ":" {
			what = nil
		}
		f.sent = append(f.sent, sending{n, time.Now(), what})
		if strings.Contains(m.flags, flagHurry) {
			f.hurried = n
		}
		if strings.Contains(m.flags, flagState) {
			f.greeting = n
		}
		f.mu.Unlock()
	}
	if m.flags == "" {
		m.flags = flagNone
	}
	var b strings.Builder
	b.WriteString(f.self + " " + strconv.FormatUint(n, 36) + " " + m.flags + m.confirm)
	for limiter, names := range m.spent {
		b.WriteString(" " + limiter)
		for hash, n := range names {
			b.WriteString(" " + strconv.FormatUint(hash, 36) + m.sign + strconv.Itoa(n))
		}
	}
	f.cfg.Publish(b.String())
}

// pieces splits the content into messages.
func pieces(all tokens) (out []tokens) {
	n := fleetMessage
	for limiter, names := range all {
		for hash, count := range names {
			if n == fleetMessage {
				out, n = append(out, tokens{}), 0
			}
			out[len(out)-1].add(limiter, hash, count)
			n++
		}
	}
	return out
}

// state is all that is spent, as far as this server knows, in messages of which the first says
// that nothing before it matters.
func (f *Fleet) state() []letter {
	all := tokens{}
	for _, l := range f.all() {
		if names := l.spent(); len(names) > 0 {
			all[l.name] = names
		}
	}
	out := []letter{{numbered: true, flags: flagState}}
	if f.silent.Load() {
		out[0].flags += flagShare
	}
	for i, piece := range pieces(all) {
		if i == fleetState {
			break
		}
		if i > 0 {
			out = append(out, letter{numbered: true})
		}
		out[i].spent, out[i].sign = piece, "="
	}
	return out
}

// Hear processes a message of another server; this one's own are ignored.
func (f *Fleet) Hear(message string) {
	words := strings.Fields(message)
	if len(words) < 3 || words[0] == f.self {
		return
	}
	from, flags := words[0], words[2]
	n, err := strconv.ParseUint(words[1], 36, 64)
	switch {
	case err != nil:
		return
	case strings.Contains(flags, flagBye):
		f.goodbye(from)
		return
	}
	f.read(from, words[3:])
	f.note(from, n, flags)
	f.settle()
}

// read takes what a message says.
func (f *Fleet) read(from string, words []string) {
	var l *Limiter
	for _, word := range words {
		at := strings.IndexAny(word, ":=")
		if at < 0 {
			f.mu.Lock()
			l = f.limiters[word]
			f.mu.Unlock()
			continue
		}
		name, sign, count := word[:at], word[at], word[at+1:]
		if name == "@"+f.self {
			f.confirmed(from, count)
			continue
		}
		hash, err := strconv.ParseUint(name, 36, 64)
		n, err2 := strconv.Atoi(count)
		if l == nil || err != nil || err2 != nil || n <= 0 {
			continue
		}
		l.charge(hash, min(n, 1<<30), sign == '=')
	}
}

// confirmed notes that a server has what we have said.
func (f *Fleet) confirmed(by, number string) {
	n, err := strconv.ParseUint(number, 36, 64)
	f.mu.Lock()
	defer f.mu.Unlock()
	if p := f.peers[by]; p != nil && err == nil && n <= f.last {
		p.confirmed = max(p.confirmed, n)
	}
}

// note is to be called after a message was read: it will be confirmed, unless one before it
// was lost.
func (f *Fleet) note(from string, n uint64, flags string) {
	state := strings.Contains(flags, flagState)
	f.mu.Lock()
	defer f.mu.Unlock()
	p, known := f.peers[from]
	if !known {
		p = &peer{torn: true}
		f.peers[from] = p
		f.known.Store(int32(len(f.peers)))
		if !state && n > 0 {
			f.ask = true
		}
		f.tell = true // it does not know us either
	}
	p.heard = time.Now()
	if n > 0 {
		switch {
		case state:
			p.torn = false
			if strings.Contains(flags, flagShare) {
				p.greeting = n
			}
		case !p.torn && n != p.last+1:
			p.torn, f.ask = true, true
		}
		p.last, p.confirms = n, true
	}
	if strings.Contains(flags, flagAsk) {
		f.tell, f.lost = true, f.lost || known
	}
	switch {
	case strings.Contains(flags, flagHurry):
		poke(f.urgent)
	case n > 0 || f.tell || f.ask:
		poke(f.kick)
	}
}

// goodbye forgets a server that stops.
func (f *Fleet) goodbye(from string) {
	f.mu.Lock()
	if _, ok := f.peers[from]; ok {
		delete(f.peers, from)
		f.known.Store(int32(len(f.peers)))
		f.left = append(f.left, time.Now())
	}
	f.mu.Unlock()
	f.settle()
}

// Missed must be called when messages were lost: it asks the others to repeat.
func (f *Fleet) Missed() {
	f.mu.Lock()
	f.ask = len(f.peers) > 0
	for p := range maps.Values(f.peers) {
		p.torn = true
	}
	f.mu.Unlock()
	poke(f.kick)
}
