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

// edges lists the ways out of n except exit and the way to a draft, which may
// lead to any node that keeps one.
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
	if n.List != nil {
		add("row", n.List.To)
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
	var roots []string
	for _, id := range []string{p.Start, p.Resume} {
		if p.nodes[id] != nil {
			roots = append(roots, id)
		}
	}
	return roots
}

// depths counts the fewest steps from a root to each node that can be reached.
func (p *Pack) depths() map[string]int {
	depth := map[string]int{}
	for _, id := range p.roots() {
		p.reach(id, depth)
	}
	return depth
}

// reach adds the nodes that can be reached from one to those that are known,
// with the fewest steps to each.
func (p *Pack) reach(from string, depth map[string]int) {
	depth[from] = 0
	for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
		id := queue[0]
		for _, e := range p.nodes[id].edges() {
			if was, ok := depth[e.to]; p.nodes[e.to] != nil && (!ok || depth[id]+1 < was) {
				depth[e.to] = depth[id] + 1
				queue = append(queue, e.to)
			}
		}
	}
}

// loose reports whether some way leads to no node that could be read. A pack that
// Parse takes has none.
func (p *Pack) loose() bool {
	if p.nodes[p.Start] == nil || p.Resume != "" && p.nodes[p.Resume] == nil {
		return true
	}
	return slices.ContainsFunc(p.List, func(n *Node) bool {
		return n.unsure || slices.ContainsFunc(n.edges(), func(e edge) bool { return p.nodes[e.to] == nil })
	})
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
	f("", "navigation.notKept", p.Navigation.NotKept)
	f("", "login", p.LoginSay)
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
	if n.List != nil {
		f(n.ID, "list", n.List.Text)
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
