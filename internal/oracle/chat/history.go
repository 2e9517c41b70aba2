package chat

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
)

// Range asks for a part of a conversation. At most one of Before and After is
// set, to a cursor of an earlier page.
type Range struct {
	Limit         int // turns, 1 to MaxTurns
	Before, After string
}

// Page reads a part of a session: the newest turns, or those around a cursor.
// Faults: SESSION_NOT_FOUND, INVALID_CURSOR.
func (s *Store) Page(ctx context.Context, user, session string, r Range) (Page, error) {
	before, err := cursor("before", r.Before)
	if err != nil {
		return Page{}, err
	}
	at, round, _ := strings.Cut(r.After, roundMark)
	after, err := cursor("after", at)
	if err != nil {
		return Page{}, err
	}
	rounds, err := cursor("after", round)
	if err != nil {
		return Page{}, err
	}
	limit := int64(min(max(r.Limit, 1), MaxTurns))
	page := Page{Messages: []jsontext.Value{}}
	err = s.cfg.DB.View(ctx, func(q db.Querier) error {
		row, err := findSession(ctx, q, user, session)
		if err != nil {
			return err
		}
		w := window{session: row.nid, bytes: maxPageBytes}
		switch {
		case r.After != "":
			w.from, w.to, w.forward = after, min(after+limit, row.turns), true
		case r.Before != "":
			w.to = min(before-1, row.turns)
			w.from = max(w.to-limit+1, 1)
		default:
			w.to = row.turns
			w.from = max(w.to-limit+1, 1)
		}
		read, err := readWindow(ctx, q, w)
		if err == nil {
			page = pageOf(read, row.turns)
		}
		return err
	})
	if r.After != "" && page.NextCursor != nil {
		next := *page.NextCursor + roundMark + strconv.FormatInt(rounds+1, 10)
		page.NextCursor = &next
	}
	return page, err
}

// roundMark separates the turn of a next cursor from how often its owner has
// asked for news. So an answer to after= differs from the previous one even
// when nothing is new: the published client redraws the history only when
// something in it changed, and one that read it while an answer was still
// arriving would show that turn twice for ever.
const roundMark = "~"

// cursor reads a cursor: the number of a turn.
func cursor(name, text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > 1<<40 || text != strconv.FormatInt(n, 10) {
		return 0, fault.New(fault.Invalid, "INVALID_CURSOR", "The cursor does not belong to this list. Start again without it.").
			With(fault.Field{Pointer: "query/" + name, Code: "invalid", Detail: "Use a cursor of the same session."})
	}
	return n, nil
}

// pageOf shows what a window gave of a session with so many turns.
func pageOf(rows []messageRow, turns int64) Page {
	p := Page{Messages: make([]jsontext.Value, 0, len(rows))}
	if len(rows) == 0 {
		return p
	}
	for _, r := range rows {
		p.Messages = append(p.Messages, jsontext.Value(r.body))
	}
	first, last := rows[0].turn, rows[len(rows)-1].turn
	next := strconv.FormatInt(last, 10)
	p.NextCursor, p.HasNewer, p.HasOlder = &next, last < turns, first > 1
	if p.HasOlder {
		prev := strconv.FormatInt(first, 10)
		p.PrevCursor = &prev
	}
	return p
}

// Messages reads a whole session, oldest message first: its newest 1,000 turns,
// or those of them that fit into 16 MiB. A session that does not exist or
// belongs to somebody else is empty.
func (s *Store) Messages(ctx context.Context, user, session string) ([]jsontext.Value, error) {
	var page Page
	err := s.cfg.DB.View(ctx, func(q db.Querier) error {
		row, err := findSession(ctx, q, user, session)
		if isMissing(err) {
			row = &sessionRow{}
		} else if err != nil {
			return err
		}
		read, err := readWindow(ctx, q, window{session: row.nid, from: max(row.turns-maxAllTurns+1, 1), to: row.turns, bytes: maxAllBytes})
		page = pageOf(read, row.turns)
		return err
	})
	return page.Messages, err
}

// History reads what was said before a turn, for the model: the newest turns
// whose text fits into so many bytes, oldest first. Each tool call is followed
// by its result.
func (s *Store) History(ctx context.Context, user, session string, before int64, bytes int) ([]llm.Message, error) {
	t, fresh, err := s.tell(ctx, user, session, before, bytes)
	if err != nil {
		return nil, err
	}
	out := t.messages()
	if fresh {
		s.recall.keep(t)
	}
	return out, nil
}

// tell combines what was said before a turn, from memory and from the store.
// fresh means that part of it is from the store, and may be cached.
func (s *Store) tell(ctx context.Context, user, session string, before int64, bytes int) (t *told, fresh bool, err error) {
	t = &told{bytes: bytes, since: s.recall.since()}
	var known *told
	var all window
	var rows []messageRow
	err = s.cfg.DB.View(ctx, func(q db.Querier) error {
		row, err := findSession(ctx, q, user, session)
		if err != nil {
			return err
		}
		to := min(before-1, row.turns)
		all = window{session: row.nid, from: max(to-maxAllTurns+1, 1), to: to, bytes: bytes, hidden: true}
		missing := all
		if known = s.recall.find(row.nid); known.serves(all) {
			missing.from = max(all.from, known.upto()+1)
		}
		rows, err = readWindow(ctx, q, missing)
		return err
	})
	if err != nil {
		return nil, false, err
	}
	t.session = all.session
	if t.turns, err = gather(rows); err != nil {
		return nil, false, err
	}
	if known.serves(all) {
		t.turns = known.join(all, t.turns)
	}
	return t, 0 < len(rows) && len(rows) < maxRows, nil // with so many the oldest turn may not be whole
}

// Files lists the attachments of the newest turns of a conversation, with their
// texts, newest first.
func (s *Store) Files(ctx context.Context, user, session string, bytes int) ([]llm.Attachment, error) {
	var rows []messageRow
	err := s.cfg.DB.View(ctx, func(q db.Querier) error {
		row, err := findSession(ctx, q, user, session)
		if err != nil {
			return err
		}
		rows, err = readWindow(ctx, q, window{session: row.nid, from: max(row.turns-maxAllTurns+1, 1), to: row.turns, bytes: bytes, hidden: true})
		return err
	})
	if err != nil {
		return nil, err
	}
	turns, err := gather(rows)
	var out []llm.Attachment
	for _, u := range slices.Backward(turns) {
		for i := range u.messages {
			out = append(out, u.messages[i].Attachments...)
		}
	}
	return out, err
}

// KeepFiles stores the texts of the attachments of a turn, so that later turns
// know them too. For a session that was deleted meanwhile it stores nothing.
func (s *Store) KeepFiles(ctx context.Context, user, session string, turn int64, list []llm.Attachment) error {
	text, err := hidden{Files: filesOf(list)}.encode()
	if err != nil || text == nil {
		return err
	}
	var nid int64
	err = s.cfg.DB.InTx(ctx, func(tx *db.Tx) (err error) {
		nid, err = keepFiles(ctx, tx, fileRow{user: user, session: session, turn: turn, text: *text})
		return err
	})
	if nid != 0 {
		s.recall.drop(nid)
	}
	return err
}

// Answer reads the oracle's last message of a turn, nil when the turn has none.
func (s *Store) Answer(ctx context.Context, user, session string, turn int64) (jsontext.Value, error) {
	return findAnswer(ctx, s.cfg.DB, user, session, turn)
}

// window is a range of turns, read from its newer end, or from its older one
// when forward. It ends early where so many bytes are full, but always holds a
// whole turn.
type window struct {
	session  int64
	from, to int64
	forward  bool
	bytes    int
	hidden   bool // count hidden text too
}

// readWindow reads a window, oldest message first.
func readWindow(ctx context.Context, q db.Querier, w window) ([]messageRow, error) {
	if w.to < w.from || w.session == 0 {
		return nil, nil
	}
	var out []messageRow
	size := 0
	err := eachMessage(ctx, q, w, func(r messageRow) bool {
		size += len(r.body)
		if w.hidden {
			size += r.size() - len(r.body)
		}
		if size > w.bytes && len(out) > 0 && out[len(out)-1].turn != r.turn {
			return false
		}
		out = append(out, r)
		return true
	})
	if !w.forward {
		slices.Reverse(out)
	}
	return out, err
}
