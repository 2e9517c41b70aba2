package dialog

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
)

// Coverage is how much of a pack some dialogs visit.
type Coverage struct {
	Pack    string
	Nodes   int
	Visited int
	Missing []string // ids in the order of the pack
}

// Percent is how many of a hundred nodes were visited, rounded down.
func (c Coverage) Percent() int {
	if c.Nodes == 0 {
		return 100
	}
	return c.Visited * 100 / c.Nodes
}

// Cover compares visits, by node id, with a pack.
func Cover(p *menu.Pack, visits map[string]int) Coverage {
	c := Coverage{Pack: p.Name, Nodes: len(p.Nodes())}
	for _, n := range p.Nodes() {
		if visits[n.ID] > 0 {
			c.Visited++
		} else {
			c.Missing = append(c.Missing, n.ID)
		}
	}
	return c
}

// route is what a step passed through: actions have no screen, so which of
// them ran follows from where the step began and ended.
type route struct {
	p *menu.Pack
}

// targets are the nodes an input can lead to from a node. Of guards only
// authentication is known.
func (r route) targets(from *menu.Node, input string, authenticated bool) []string {
	input = strings.TrimSpace(input)
	if from.Kind() == menu.KindMenu {
		switch strings.ToLower(input) {
		case "back":
			input = menu.KeyBack
		case "exit", "cancel":
			input = menu.KeyExit
		}
	}
	if to, ok := from.Keys[input]; ok {
		return []string{to}
	}
	var out []string
	for _, o := range from.Options {
		barred := slices.ContainsFunc(o.If, func(c menu.Condition) bool { return c.Word == menu.Authenticated && c.Not == authenticated })
		if o.Key == input && !barred {
			out = append(out, o.To)
		}
	}
	if from.List != nil && len(out) == 0 && strings.Trim(input, "0123456789") == "" {
		out = append(out, from.List.To)
	}
	if input == menu.KeyBack && from.Back != "" {
		out = append(out, from.Back)
	}
	if from.To != "" {
		out = append(out, from.To)
	}
	if from.Any != "" && len(out) == 0 {
		out = append(out, from.Any)
	}
	return out
}

// ends lists the screens that can follow from the targets, each with the
// actions on the shortest way to it.
func (r route) ends(targets []string) map[string][]string {
	out := map[string][]string{}
	type stop struct {
		id  string
		via []string
	}
	var queue []stop
	seen := map[string]bool{}
	for _, to := range targets {
		queue = append(queue, stop{id: to})
	}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		n := r.p.Node(at.id)
		if n == nil || seen[at.id] {
			continue
		}
		seen[at.id] = true
		if n.Do == "" {
			out[at.id] = at.via
			continue
		}
		via := append(slices.Clone(at.via), at.id)
		for _, t := range n.Results {
			queue = append(queue, stop{t.To, via})
		}
	}
	return out
}

// step determines which nodes a step visited. A screen that the server did not
// name is found by its text, because an ended session can no longer be asked
// for.
func (r route) step(from Place, input, node, text string) (to string, visited []string) {
	start := r.p.Node(from.Node)
	if start == nil {
		if node == "" {
			return "", nil
		}
		return node, []string{node}
	}
	if node == start.ID && start.Input != nil && r.refused(start, text) {
		return node, []string{node} // asked again: no action ran
	}
	ends := r.ends(r.targets(start, input, from.Authenticated))
	if node == "" {
		node = r.byText(ends, text)
	}
	if node == "" {
		return "", nil
	}
	return node, append(slices.Clone(ends[node]), node)
}

// refused reports whether a screen begins with the notice of an answer that did not
// pass its check.
func (r route) refused(n *menu.Node, text string) bool {
	for _, notice := range n.Input.Error {
		if strings.HasPrefix(text, notice) {
			return true
		}
	}
	return false
}

// byText is the node whose text stands in a screen, the one with the longest
// text when it is several.
func (r route) byText(ends map[string][]string, text string) string {
	best, size := "", 0
	for _, id := range slices.Sorted(maps.Keys(ends)) {
		for _, t := range r.p.Node(id).Text {
			if len(t) > size && pattern(t).MatchString(text) {
				best, size = id, len(t)
			}
		}
	}
	return best
}

// pattern matches a text with anything in place of its variables.
func pattern(text string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString("(?s)")
	last := 0
	for _, at := range useForm.FindAllStringIndex(text, -1) {
		b.WriteString(regexp.QuoteMeta(text[last:at[0]]) + ".*")
		last = at[1]
	}
	b.WriteString(regexp.QuoteMeta(strings.TrimSpace(text[last:])))
	return regexp.MustCompile(b.String())
}
