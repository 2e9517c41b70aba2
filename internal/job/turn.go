package job

import (
	"cmp"
	"context"
	"maps"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// line is where a job waits: behind those of its workspace and kind. Jobs of
// no workspace have lines of their own, under "".
type line struct{ ws, kind string }

// turns chooses the line whose job begins next, so that nobody waits for the
// queue of another workspace, or of another kind.
type turns struct {
	perSpace int // jobs of a workspace at once: a worker is left for the others
	perLine  int // jobs of a kind in a workspace: one of its share is left for its other kinds
	handled  func(kind string) bool

	busy   int
	starts int
	last   string             // the workspace of the last start
	spaces map[string]int     // jobs at work here
	lines  map[line]*standing // of those that began a job here
	held   map[line]struct{}  // being claimed by other instances, for this pass
}

// standing is what a line has had.
type standing struct {
	running int
	last    int // the number of its last start
}

// manyLines is how many lines that have nothing at work are remembered. One
// that is forgotten has its turn by time.
const manyLines = 1000

func newTurns(cfg RunnerConfig) turns {
	space := max(1, cfg.Workers-1)
	return turns{
		perSpace: space, perLine: max(1, space-1), handled: func(kind string) bool { return cfg.Handlers[kind] != nil },
		spaces: map[string]int{}, lines: map[line]*standing{}, held: map[line]struct{}{},
	}
}

// choice is the line that is next, and when its first job may begin.
type choice struct {
	line
	at   int64
	work int // of its workspace
	any  bool
}

// choose reads who waits and says who is next: of the workspaces whose jobs are
// due the one with the fewest at work, on all instances; of these the one that
// follows the last to begin, in the order of their names and round again; and
// of its kinds the one with the fewest at work, then the one that began one
// longest ago. When no job is due it is the one that will be first.
func (t *turns) choose(ctx context.Context, q db.Querier, now int64) (choice, error) {
	work, err := atWork(ctx, q, now)
	if err != nil {
		return choice{}, err
	}
	inSpace := map[string]int{}
	for l, n := range work {
		inSpace[l.ws] += n
	}
	var best choice
	err = circle(ctx, q, t.last, func(ws string, open []waiting) bool {
		next := t.ofSpace(open, work, now)
		next.work = inSpace[ws]
		if next.any && (!best.any || cmp.Or(cmp.Compare(max(next.at, now), max(best.at, now)), cmp.Compare(next.work, best.work)) < 0) {
			best = next
		}
		return !best.any || best.at > now || best.work > 0 // nothing comes before one without running jobs
	})
	return best, err
}

// ofSpace chooses from the lines of one workspace that have room.
func (t *turns) ofSpace(open []waiting, work map[line]int, now int64) choice {
	var best choice
	for _, w := range open {
		_, held := t.held[w.line]
		if held || !t.handled(w.kind) || t.spaces[w.ws] >= t.perSpace || t.running(w.line) >= t.perLine {
			continue
		}
		if !best.any || cmp.Or(
			cmp.Compare(max(w.due, now), max(best.at, now)),
			cmp.Compare(work[w.line], work[best.line]),
			cmp.Compare(t.began(w.line), t.began(best.line)),
			cmp.Compare(w.due, best.at),
		) < 0 {
			best = choice{line: w.line, at: w.due, any: true}
		}
	}
	return best
}

func (t *turns) running(l line) int {
	if s := t.lines[l]; s != nil {
		return s.running
	}
	return 0
}

// began is the number of the last start of a line, 0 before the first.
func (t *turns) began(l line) int {
	if s := t.lines[l]; s != nil {
		return s.last
	}
	return 0
}

// begin notes that a job of a line has begun.
func (t *turns) begin(l line) {
	if len(t.lines) >= manyLines {
		maps.DeleteFunc(t.lines, func(_ line, s *standing) bool { return s.running == 0 })
	}
	if t.lines[l] == nil {
		t.lines[l] = &standing{}
	}
	t.busy++
	t.starts++
	t.spaces[l.ws]++
	t.lines[l].running++
	t.lines[l].last = t.starts
	t.last = l.ws
}

// end notes that a job of a line has ended.
func (t *turns) end(l line) {
	t.busy--
	t.lines[l].running--
	if t.spaces[l.ws]--; t.spaces[l.ws] == 0 {
		delete(t.spaces, l.ws)
	}
}
