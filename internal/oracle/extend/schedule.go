package extend

import (
	"context"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/plugin"
)

// Work is something that a plugin does from time to time.
type Work struct {
	Plugin string
	plugin.Work
}

// Works is the scheduled work of all plugins. A panic becomes an error, and
// none of the work has a user.
func (s *Set) Works() []Work {
	if s == nil {
		return nil
	}
	var out []Work
	for _, m := range s.all {
		for _, w := range m.works {
			do := w.Run
			w.Run = func(ctx context.Context) (err error) {
				defer m.recovered(w.Name, &err)
				return do(tool.With(ctx, tool.Context{}))
			}
			out = append(out, Work{m.about.Name, w})
		}
	}
	return out
}

// checkWorks says what is wrong with the scheduled work of a plugin.
func checkWorks(works []plugin.Work) []error {
	var bad []error
	seen := map[string]bool{}
	for _, w := range works {
		switch {
		case len(w.Name) > maxPluginName || !namePattern.MatchString(w.Name):
			bad = append(bad, fmt.Errorf("work %q: the name must be lower-case words with hyphens between them, at most %d characters", w.Name, maxPluginName))
		case seen[w.Name]:
			bad = append(bad, fmt.Errorf("work %s: there are two of this name", w.Name))
		case w.Every < plugin.MinEvery:
			bad = append(bad, fmt.Errorf("work %s: want at least %s between two runs", w.Name, plugin.MinEvery))
		case w.Run == nil:
			bad = append(bad, fmt.Errorf("work %s: there is no Run", w.Name))
		}
		seen[w.Name] = true
	}
	return bad
}
