package agent

import (
	"slices"

	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

// toolset are tools of different names. It is a list: most turns look for few of them,
// or none, and each turn makes one.
type toolset struct {
	names []string
	all   []tool.Tool
}

func newToolset(n int) toolset {
	return toolset{make([]string, 0, n), make([]tool.Tool, 0, n)}
}

// add reports false, and adds nothing, where the name is taken.
func (s *toolset) add(name string, t tool.Tool) bool {
	if slices.Contains(s.names, name) {
		return false
	}
	s.names, s.all = append(s.names, name), append(s.all, t)
	return true
}

// find gives the place of a tool.
func (s *toolset) find(name string) (i int, found bool) {
	i = slices.Index(s.names, name)
	return i, i >= 0
}
