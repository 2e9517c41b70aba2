package bulk

import (
	"context"
	"sync"
	"time"

	"github.com/hearth-dmrv/hearth/internal/fault"
)

// How large the answer to a preview may be, in bytes of JSON.
const (
	maxPreview        = 255 << 10 // 256 KiB with what surrounds it
	maxPreviewColumns = 128 << 10
	maxPreviewNotes   = 24 << 10
	maxPreviewRow     = 48 << 10
)

// allowance is how many bytes of an answer are left.
type allowance int

// take reports whether n bytes were left, and takes them.
func (a *allowance) take(n int) bool {
	if n > int(*a) {
		return false
	}
	*a -= allowance(n)
	return true
}

// columns returns the first columns of a file, with their mapping.
func (a *allowance) columns(all []PreviewColumn) []PreviewColumn {
	own := allowance(maxPreviewColumns)
	for i, c := range all {
		if n := 2*(quoted(c.Name)+quoted(c.Path)) + 64; !own.take(n) || !a.take(n) {
			return all[:i]
		}
	}
	return all
}

// notes name as many columns as there is room for. A note that does not name all
// says how many there are.
func (a *allowance) notes(all []PreviewNote) []PreviewNote {
	own := allowance(maxPreviewNotes)
	for i := range all {
		n := &all[i]
		for j, name := range n.Columns {
			if size := quoted(name) + 1; !own.take(size) || !a.take(size) {
				n.Columns, n.Count = n.Columns[:j], len(n.Columns)
				break
			}
		}
	}
	a.take(2 << 10) // the words of the notes
	return all
}

// fit leaves the first cells of a long row, and says how large it is then.
func (r *PreviewRow) fit() int {
	left := allowance(maxPreviewRow)
	left.take(64)
	for i, c := range r.Cells {
		if !left.take(quoted(c.Column) + quoted(c.Value) + quoted(c.Wrong) + 40) {
			r.Cells = r.Cells[:i]
			break
		}
	}
	return maxPreviewRow - int(left)
}

// quoted is how many bytes a text takes as JSON at most.
func quoted(s string) int {
	n := 2
	for _, r := range s {
		switch {
		case r < ' ', r == '<', r == '>', r == '&', r > '~' && r < 0xA0, r == 0x2028, r == 0x2029:
			n += 6
		case r == '"', r == '\\':
			n += 2
		case r < 0x80:
			n++
		case r < 0x800:
			n += 2
		case r < 0x10000:
			n += 3
		default:
			n += 4
		}
	}
	return n
}

// cutText truncates a long cell and marks it.
func cutText(s string) string {
	n := 0
	for i := range s {
		if n++; n > previewCell {
			return s[:i] + "…"
		}
	}
	return s
}

// How many previews work at once; each takes a processor for a second at worst.
const (
	glancesAll = 2
	glanceWait = 5 * time.Second
)

// glances are the previews under way: one of a workspace, so that none keeps the
// others out.
type glances struct {
	mu   sync.Mutex
	busy map[string]bool // by workspace
	wake chan struct{}   // closed when one ends
}

func newGlances() *glances { return &glances{busy: map[string]bool{}, wake: make(chan struct{})} }

// take waits for a place, for a while. Call the function it returns when the
// preview is made. Faults: TOO_MANY_PREVIEWS.
func (g *glances) take(ctx context.Context, ws string) (leave func(), err error) {
	ctx, stop := context.WithTimeout(ctx, glanceWait)
	defer stop()
	for {
		g.mu.Lock()
		wake := g.wake
		free := !g.busy[ws] && len(g.busy) < glancesAll
		if free {
			g.busy[ws] = true
		}
		g.mu.Unlock()
		if free {
			return func() { g.leave(ws) }, nil
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return nil, fault.New(fault.TooMany, "TOO_MANY_PREVIEWS", "The server is previewing other files. Try again shortly.").After(2 * time.Second)
		}
	}
}

func (g *glances) leave(ws string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.busy, ws)
	close(g.wake)
	g.wake = make(chan struct{})
}
