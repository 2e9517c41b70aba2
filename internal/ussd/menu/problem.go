package menu

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/order"
)

// Problem is one mistake in a pack file.
type Problem struct {
	File   string
	Line   int // from 1
	Column int // from 1
	Path   string
	Text   string
}

// String returns the problem on one line, in the format of compilers.
func (p Problem) String() string {
	s := p.File + ":" + strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Column) + ": "
	if p.Path != "" {
		s += p.Path + ": "
	}
	return s + p.Text
}

// Problems are all mistakes in a pack file, in the order of the file.
type Problems []Problem

// Error lists the problems, one on each line.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

func (ps Problems) sort() {
	order.Stable(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// cut keeps as many problems as anybody reads, and says how many it left out.
func (ps Problems) cut() Problems {
	if len(ps) <= maxProblems {
		return ps
	}
	last := ps[maxProblems]
	last.Path, last.Text = "", "and "+strconv.Itoa(len(ps)-maxProblems)+" more problems"
	return append(ps[:maxProblems:maxProblems], last)
}
