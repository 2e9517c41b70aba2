package export

import (
	"net/http"
	"strconv"
)

// page is a page of a table as OData writes it.
func (f *feed) page(r *http.Request) ([]byte, error) {
	p := &feedPage{feed: f, left: f.s.size.feed}
	p.body = append(quote(append(p.body, `{"@odata.context":`...), f.context("#"+f.table.name)), ',')
	if f.count {
		n, err := f.total(r.Context())
		if err != nil {
			return nil, err
		}
		p.body = append(strconv.AppendInt(append(p.body, `"@odata.count":`...), n, 10), ',')
	}
	p.body = append(p.body, `"value":[`...)
	if f.top >= 0 {
		p.left = min(p.left, f.top)
	}
	end, err := p.fill(r)
	if err != nil {
		return nil, err
	}
	p.body = append(p.body, ']')
	if f.top >= 0 {
		f.top -= p.rows
	}
	if !end && f.top != 0 {
		to := f.at
		to.Left = f.top + 1
		link, err := f.next(r, to)
		if err != nil {
			return nil, err
		}
		p.body = quote(append(p.body, `,"@odata.nextLink":`...), link)
	}
	return append(p.body, '}', '\n'), nil
}

// feedPage is a page that is being written.
type feedPage struct {
	*feed
	body []byte
	rows int
	left int // rows it may still have
}

// fill writes rows until the page is full. It reports whether there are no more.
func (p *feedPage) fill(r *http.Request) (end bool, err error) {
	after, last := p.span()
	from := p.reader(last)
	for range feedLooks {
		if p.left == 0 {
			return false, nil
		}
		b, err := from.next(r.Context(), after, nil)
		if err != nil {
			return false, err
		}
		for i := range b.rows {
			if whole, err := p.add(&b.rows[i].Response); err != nil || !whole {
				return false, err
			}
		}
		if after, p.at = b.after, (feedSpot{After: b.after}); b.end {
			return true, nil
		}
		if len(p.body) > feedBytes {
			return false, nil
		}
	}
	return false, nil
}

// add writes the rows of a response. It reports whether they all fit.
func (p *feedPage) add(r *Response) (whole bool, err error) {
	if p.table.table == nil {
		if p.left == 0 {
			return false, nil
		}
		if err := p.response(r); err != nil {
			return false, err
		}
		p.at = feedSpot{After: r.NID}
		return true, nil
	}
	n, given, full := 0, 0, false
	if p.at.In == r.NID {
		given = p.at.Given
	}
	err = p.model.layout.entries(p.table.table, r, func(row []cell) error {
		switch n++; {
		case n <= given || full:
		case p.left == 0:
			full = true
			p.at.In, p.at.Given = r.NID, n-1
		default:
			p.row()
			p.body = append(p.entry(p.body, p.table, row), '}')
		}
		return nil
	})
	if err != nil || full {
		return false, err
	}
	p.at = feedSpot{After: r.NID}
	return true, nil
}

// row begins one more row.
func (p *feedPage) row() {
	if p.rows > 0 {
		p.body = append(p.body, ',', '\n')
	}
	p.rows++
	p.left--
}

// response writes the row of a response.
func (p *feedPage) response(r *Response) error {
	l := p.model.layout
	if err := l.fill(r); err != nil {
		return err
	}
	p.row()
	id := l.responseCell(r)
	b := id.appendJSON(append(p.body, `{"__id":`...))
	if p.wants(feedSystem) {
		b = p.system(append(b, ','), r)
	}
	b = p.properties(b, p.table, l.row)
	if p.expand {
		var err error
		if b, err = p.expanded(b, r); err != nil {
			return err
		}
	}
	p.body = append(b, '}')
	return nil
}

// system writes what ODK Central says about a submission.
func (p *feedPage) system(b []byte, r *Response) []byte {
	cells := []cell{instant(r.ReceivedAt), instant(r.UpdatedAt), {}, word(r.VStatus), word(r.Status), {kind: integer, n: max(r.Revision-1, 0)}}
	if p.level != None {
		cells[2] = word(p.model.layout.person(r.Collector))
	}
	b = append(b, `"__system":`...)
	for i := range cells {
		if b = append(b, ','); i == 0 {
			b[len(b)-1] = '{'
		}
		b = cells[i].appendJSON(append(quote(b, systemProperties[i][0]), ':'))
	}
	return append(b, '}')
}

// properties writes those of a table.
func (p *feedPage) properties(b []byte, t *feedTable, row []cell) []byte {
	for i := range t.properties {
		one := &t.properties[i]
		if t != p.table || p.wants(one.name) {
			b = one.append(append(b, ','), &row[one.at])
		}
	}
	return b
}

// entry writes the row of a repeat, but for its end.
func (p *feedPage) entry(b []byte, t *feedTable, row []cell) []byte {
	id, parent, index := row[0].text(), row[1], row[2]
	b = quote(append(b, `{"__id":`...), id+"/"+index.text())
	for _, one := range []struct {
		name string
		c    *cell
	}{{feedParent, &row[0]}, {"parentIndex", &parent}, {"index", &index}} {
		if t != p.table || p.wants(one.name) {
			b = one.c.appendJSON(append(quote(append(b, ','), one.name), ':'))
		}
	}
	return p.properties(b, t, row)
}

// nested is a row of a repeat inside of a response.
type nested struct {
	parent, index string
	body          []byte
}

// expanded writes the repeats of a response into it.
func (p *feedPage) expanded(b []byte, r *Response) ([]byte, error) {
	rows := map[*feedTable][]nested{}
	for _, t := range p.model.all[1:] {
		err := p.model.layout.entries(t.table, r, func(row []cell) error {
			rows[t] = append(rows[t], nested{row[1].text(), row[2].text(), p.entry(nil, t, row)})
			return nil
		})
		if err != nil {
			return b, err
		}
	}
	return appendNested(b, p.table, "", rows), nil
}

// appendNested writes the repeats of one row.
func appendNested(b []byte, of *feedTable, index string, rows map[*feedTable][]nested) []byte {
	for _, t := range of.kids {
		b = append(quote(append(b, ','), t.name), ':', '[')
		n := 0
		for _, one := range rows[t] {
			if one.parent != index {
				continue
			}
			if n++; n > 1 {
				b = append(b, ',')
			}
			b = append(appendNested(append(b, one.body...), t, one.index, rows), '}')
		}
		b = append(b, ']')
	}
	return b
}
