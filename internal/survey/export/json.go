package export

import "strconv"

// appendRecord writes a response as a JSON object. begin is what stands before
// the first member.
func (l *Layout) appendRecord(b []byte, r *Response, begin func([]byte) []byte) ([]byte, error) {
	if err := l.fillHead(r); err != nil {
		return b, err
	}
	b = begin(append(b, '{'))
	for i := range l.heads {
		if c := &l.row[i]; c.kind != empty && !l.heads[i].place {
			b = member(b, l.heads[i].column.Name)
			b = c.appendJSON(b)
		}
	}
	if r.Place != nil && l.cfg.Level == Full {
		b = r.Place.appendJSON(member(b, "location"))
	}
	b = member(b, "responses")
	if l.cfg.Level == Full {
		b = append(b, r.Answers...)
		return append(b, '}'), nil
	}
	p := scanner{s: r.Answers}
	b = l.appendMembers(b, &p, l.root)
	if p.bad {
		return b, l.fill(r) // reports the error
	}
	return append(b, '}'), nil
}

// member begins a member of an object.
func member(b []byte, name string) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	return append(quote(b, name), ':')
}

func (p *Place) appendJSON(b []byte) []byte {
	b = strconv.AppendFloat(append(b, `{"lat":`...), p.Lat, 'f', -1, 64)
	b = strconv.AppendFloat(append(b, `,"lon":`...), p.Lon, 'f', -1, 64)
	if p.Accuracy != nil {
		b = strconv.AppendFloat(append(b, `,"accuracy":`...), *p.Accuracy, 'f', -1, 64)
	}
	return append(b, '}')
}

// appendMembers writes those members of an object that the level has.
func (l *Layout) appendMembers(b []byte, p *scanner, n *node) []byte {
	if !p.open('{') {
		return b
	}
	b = append(b, '{')
	at := 0
	for p.more('}') {
		name := p.name()
		if kid := n.find(name, &at); kid != nil {
			b = l.appendValue(member(b, name), p, kid)
		} else {
			p.value()
		}
	}
	return append(b, '}')
}

// appendValue writes an answer as JSON, as the level has it.
func (l *Layout) appendValue(b []byte, p *scanner, n *node) []byte {
	c := p.peek()
	switch {
	case n.kind == object && c == '{':
		return l.appendMembers(b, p, n)
	case n.kind == repeat && c == '[':
		p.i++
		b = append(b, '[')
		for first := true; p.more(']'); first = false {
			if !first {
				b = append(b, ',')
			}
			b = l.appendMembers(b, p, n)
		}
		return append(b, ']')
	}
	raw := p.value()
	switch {
	case p.bad || noAnswer(raw) != "":
	case n.kind == named && raw[0] != 'n':
		return quote(b, n.name(l, textOf(raw)))
	case n.kind == parts && n.of.Place && c == '{':
		in := scanner{s: raw}
		b = l.appendPlace(b, &in, n)
		p.bad = p.bad || in.bad
		return b
	}
	return append(b, raw...)
}

// appendPlace writes a position no finer than the level has it.
func (l *Layout) appendPlace(b []byte, p *scanner, n *node) []byte {
	if !p.open('{') {
		return b
	}
	b = append(b, '{')
	for p.more('}') {
		name := p.name()
		v := p.value()
		if _, ok := n.columns[name]; !ok || p.bad {
			continue
		}
		b = append(member(b, name), rounded(v)...)
	}
	return append(b, '}')
}

// appendLong writes an answer as a JSON object.
func (l *Layout) appendLong(b []byte, heads []int, a *longRow, begin func([]byte) []byte) []byte {
	b = begin(append(b, '{'))
	for _, i := range heads {
		if c := &l.row[i]; c.kind != empty {
			b = c.appendJSON(member(b, l.heads[i].column.Name))
		}
	}
	b = quote(member(b, longNames[0]), a.section)
	b = quote(member(b, longNames[1]), a.question)
	if a.index != "" {
		b = quote(member(b, longNames[2]), a.index)
	}
	b = a.value.appendJSON(member(b, longNames[3]))
	return append(b, '}')
}
