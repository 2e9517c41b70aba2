package menu

import (
	"maps"
	"slices"
)

// edge is one way from a node to another.
type edge struct {
	key  string // what is typed, or the result of the action; "" goes on
	to   string
	back bool
	say  Text
}

// edges lists the ways out of n but for exit. The way to a draft is none of
// them: it may lead to any node that keeps one.
func (n *Node) edges() []edge {
	var out []edge
	add := func(key, to string) {
		if to != "" && to != Draft {
			out = append(out, edge{key: key, to: to})
		}
	}
	for _, o := range n.Options {
		add(o.Key, o.To)
	}
	add("any", n.Any)
	add("", n.To)
	for _, key := range slices.Sorted(maps.Keys(n.Keys)) {
		add(key, n.Keys[key])
	}
	for _, name := range slices.Sorted(maps.Keys(n.Results)) {
		t := n.Results[name]
		out = append(out, edge{key: name, to: t.To, say: t.Say})
	}
	if _, other := n.Keys[KeyBack]; n.Back != "" && !other {
		out = append(out, edge{key: KeyBack, to: n.Back, back: true})
	}
	return out
}

// roots are the nodes where a session can begin.
func (p *Pack) roots() []string {
	roots := []string{p.Start}
	if p.Resume != "" {
		roots = append(roots, p.Resume)
	}
	return roots
}

// depths counts the fewest steps from a root to each node that can be reached.
func (p *Pack) depths() map[string]int {
	depth := map[string]int{}
	queue := p.roots()
	for _, id := range queue {
		depth[id] = 0
	}
	for len(queue) > 0 {
		id := queue[0]
		queue = queue[1:]
		for _, e := range p.nodes[id].edges() {
			if _, ok := depth[e.to]; !ok {
				depth[e.to] = depth[id] + 1
				queue = append(queue, e.to)
			}
		}
	}
	return depth
}

// texts calls f for every text of the pack with the node it belongs to, ""
// for none.
func (p *Pack) texts(f func(node, path string, t Text)) {
	f("", "title", p.Title)
	f("", "navigation.back", p.Navigation.Back)
	f("", "navigation.exit", p.Navigation.Exit)
	f("", "navigation.more", p.Navigation.More)
	f("", "navigation.goodbye", p.Navigation.Goodbye)
	f("", "navigation.invalid", p.Navigation.Invalid)
	for _, n := range p.List {
		n.texts(f)
	}
}

func (n *Node) texts(f func(node, path string, t Text)) {
	if n.Do == "" {
		f(n.ID, "text", n.Text)
	}
	for _, o := range n.Options {
		f(n.ID, "option "+o.Key, o.Text)
	}
	if n.Input != nil {
		f(n.ID, "input.error", n.Input.Error)
		if n.Input.Skip != nil {
			f(n.ID, "input.skip", n.Input.Skip.Text)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(n.Results)) {
		if t := n.Results[name]; t.Say != nil {
			f(n.ID, "results."+name, t.Say)
		}
	}
}
