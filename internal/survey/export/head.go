package export

import (
	"strconv"

	"github.com/hearth-dmrv/hearth/internal/privacy"
)

// head are the members of a stored record that have a column, as they are
// written there.
type head struct {
	completeness, startedAt, durationSec, mode, language, consent, eligible string
	templateVersion, supersedes, submittedBy, deviceID, metadata, erased    string
}

// read finds the members.
func (h *head) read(p *scanner) {
	*h = head{}
	if !p.open('{') {
		return
	}
	for p.more('}') {
		var to *string
		switch p.name() {
		case "templateVersion":
			to = &h.templateVersion
		case "completeness":
			to = &h.completeness
		case "startedAt":
			to = &h.startedAt
		case "durationSec":
			to = &h.durationSec
		case "mode":
			to = &h.mode
		case "language":
			to = &h.language
		case "consent":
			to = &h.consent
		case "eligible":
			to = &h.eligible
		case "supersedes":
			to = &h.supersedes
		case "submittedBy":
			to = &h.submittedBy
		case "deviceId":
			to = &h.deviceID
		case "metadata":
			to = &h.metadata
		case "erased":
			to = &h.erased
		}
		v := p.value()
		if to != nil {
			*to = v
		}
	}
}

// responseCell is the id of a response. One that a client chose may identify a
// person: below Full it is the reference, which leads to the record and to no
// person.
func (l *Layout) responseCell(r *Response) cell {
	if l.cfg.Level == Full {
		return word(r.ID)
	}
	return word(privacy.RecordName(r.NID))
}

func (l *Layout) household(id string) string {
	if l.cfg.Level == Full || id == "" {
		return id
	}
	return l.cfg.Names.Household(id)
}

// serial is the number on a thing, or what was calculated from it.
func (l *Layout) serial(text string) string { return l.cfg.Names.Serial(text) }

// textOf is the text of an answer that has a name in its place.
func textOf(raw string) string {
	if raw[0] == '"' {
		return plain(raw)
	}
	return raw
}

// maxPeople is how many names of people are kept at hand.
const maxPeople = 10_000

// person is a collector or verifier.
func (l *Layout) person(id string) string {
	if l.cfg.Level == Full || id == "" {
		return id
	}
	if name, ok := l.people[id]; ok {
		return name
	}
	if len(l.people) >= maxPeople {
		clear(l.people)
	}
	name := l.cfg.Names.Person(id)
	l.people[id] = name
	return name
}

func placeCell(of func(*Place) *float64) func(*Layout, *Response) cell {
	return func(_ *Layout, r *Response) cell {
		if r.Place == nil {
			return cell{}
		}
		f := of(r.Place)
		if f == nil {
			return cell{}
		}
		return cell{kind: number, s: strconv.FormatFloat(*f, 'f', -1, 64)}
	}
}

// erasedCell shows the same as a read of the response: the record is marked as
// erased, or its key was destroyed and it will be.
func (l *Layout) erasedCell(r *Response) cell {
	if r.Erased || l.head.erased == "true" {
		return cell{kind: number, s: "true"}
	}
	return cell{kind: number, s: "false"}
}
