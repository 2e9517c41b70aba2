package menu

import "slices"

// Way is one way out of a node.
type Way struct {
	Key   string // what is typed, or the result of the action; "" goes on
	To    string
	Back  bool
	Label string // of an option
}

// Stop is a node of a drawing.
type Stop struct {
	ID, State string
	Kind      Kind
	Label     string // the text of the screen, or the action
	Secret    bool   // its answer is one
	Depth     int    // fewest steps from the start; -1 cannot be reached
	Ways      []Way
}

// Outline describes the pack for a drawing in a language, in the order of the
// file. A way to a node that could not be read is left out.
func (p *Pack) Outline(lang string) []Stop {
	depth, out := p.depths(), make([]Stop, 0, len(p.List))
	for _, n := range p.List {
		s := Stop{ID: n.ID, State: n.State, Kind: n.Kind(), Label: n.Do, Depth: -1, Secret: n.Input != nil && n.Input.Secret}
		if n.Do == "" {
			s.Label = fold(n.Text.In(lang, p.Default()), p.Title.In(lang, p.Default()))
		}
		if d, ok := depth[n.ID]; ok {
			s.Depth = d
		}
		for _, e := range n.edges() {
			if p.nodes[e.to] == nil {
				continue
			}
			w := Way{Key: e.key, To: e.to, Back: e.back}
			if i := slices.IndexFunc(n.Options, func(o Option) bool { return o.Key == e.key && o.To == e.to }); i >= 0 {
				w.Label = n.Options[i].Text.In(lang, p.Default())
			}
			s.Ways = append(s.Ways, w)
		}
		out = append(out, s)
	}
	return out
}
