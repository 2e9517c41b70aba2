package intake

import (
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// names finds the column of an export for a column of a file of another
// program. Those name a question by its id, alone or with the groups around it.
type names struct {
	source    Source
	mapping   map[string]string
	questions map[string][]form.Place // by every name they can have
	ours      map[string]bool         // columns of an export
	known     map[string]meaning      // meanings found before, of columns that have one: the number of other columns is not bounded
	back      map[string]string       // the first of these names, by the column of an export
}

// meaning is what a column of a file is.
type meaning struct {
	column   string // of an export; "" when it is left out
	question form.Place
	code     string // why it cannot be told, "" when it can
	heads    string // the column is also about the response
}

// between are what other programs put between the groups around a question and
// its name.
var between = []string{"-", "/", ":", "."}

func newNames(p *settings, l Layout) *names {
	n := &names{source: p.Source, mapping: p.Mapping, questions: map[string][]form.Place{}, ours: map[string]bool{}, known: map[string]meaning{}, back: map[string]string{}}
	for _, name := range l.Names() {
		n.ours[name] = true
	}
	for _, q := range l.Places() {
		for i := range q.Path {
			tail := q.Path[i:]
			for j, sep := range between {
				if len(tail) > 1 || j == 0 {
					name := strings.Join(tail, sep)
					n.questions[name] = append(n.questions[name], q)
				}
			}
		}
		n.ours[q.Column] = true
	}
	return n
}

// systemic are the columns that other programs add, and what they say about a
// response; "" for what we do not keep.
var systemic = map[string]string{
	"KEY": "responseId", "__id": "responseId", "meta-instanceID": "responseId", "meta/instanceID": "responseId", "instanceID": "responseId", "_uuid": "uuid",
	"start": "startedAt", "end": "timestamp", "SubmissionDate": "received", "_submission_time": "received", "__system-submissionDate": "received",
	"deviceid": "deviceId", "DeviceID": "deviceId", "__system-deviceId": "deviceId", "ReviewState": "review", "__system-reviewState": "review",
	"today": "", "username": "", "SubmitterName": "sender", "__system-submitterName": "sender", "_submitted_by": "sender", "phonenumber": "", "email": "", "simserial": "", "subscriberid": "", "audit": "", "meta-audit": "", "meta/audit": "", "meta-entity": "", "PARENT_KEY": "", "SubmitterID": "",
	"AttachmentsPresent": "", "AttachmentsExpected": "", "Status": "", "Edits": "", "FormVersion": "", "meta-instanceName": "",
	"meta-deprecatedID": "", "formhub/uuid": "", "instanceName": "", "meta/instanceName": "", "meta/rootUuid": "", "meta/deprecatedID": "",
}

// senders are the columns in which other programs say themselves who has sent a
// submission. What a phone has written, such as username, anybody can write.
var senders = map[Source][]string{ODK: {"SubmitterName", "__system-submitterName"}, Kobo: {"_submitted_by"}}

// places are the ends of the columns of a place.
var places = []struct{ before, after, part string }{
	{"", "-Latitude", "/lat"},
	{"", "-Longitude", "/lon"},
	{"", "-Altitude", "/altitude"},
	{"", "-Accuracy", "/accuracy"},
	{"_", "_latitude", "/lat"},
	{"_", "_longitude", "/lon"},
	{"_", "_altitude", "/altitude"},
	{"_", "_precision", "/accuracy"},
}

// of finds out what a column is.
func (n *names) of(column string) meaning {
	m, ok := n.known[column]
	if !ok {
		if m = n.find(column); m.column == "" {
			return m
		}
		n.known[column] = m
		if first, ok := n.back[m.column]; !ok || column < first {
			n.back[m.column] = column
		}
	}
	return m
}

func (n *names) find(column string) meaning {
	if to, ok := n.mapping[column]; ok {
		return n.target(to)
	}
	if n.source == Hearth {
		return n.target(column)
	}
	m := meaning{heads: systemic[column]}
	_, added := systemic[column]
	all := n.questions[column]
	if m.heads == "sender" && (len(all) > 0 || !slices.Contains(senders[n.source], column)) {
		m.heads = ""
	}
	if len(all) > 0 {
		m.column, m.question = all[0].Column, all[0]
		if len(all) > 1 {
			m.code = "ambiguous_column"
		}
		return m
	}
	for _, p := range places {
		rest, ok := strings.CutSuffix(column, p.after)
		if rest, ok2 := strings.CutPrefix(rest, p.before); ok && ok2 {
			if all := n.questions[rest]; len(all) == 1 && all[0].Geo {
				return meaning{column: all[0].Column + p.part, question: all[0]}
			}
		}
	}
	if at := strings.LastIndexByte(column, '/'); at > 0 && len(n.questions[column[:at]]) > 0 {
		return m // one option of several
	}
	if strings.HasSuffix(column, "_URL") && len(n.questions[strings.TrimSuffix(column, "_URL")]) > 0 || strings.HasPrefix(column, "_") || strings.HasPrefix(column, "generated_") ||
		strings.Contains(column, "@odata.") || added {
		return m
	}
	if n.ours[column] {
		return n.target(column)
	}
	m.code = "unknown_column"
	return m
}

// target is what the name of a column of an export means.
func (n *names) target(column string) meaning {
	if column == "" {
		return meaning{}
	}
	if !n.ours[column] {
		return meaning{code: "unknown_column"}
	}
	m := meaning{column: column}
	for _, q := range n.questions[column] {
		if q.Column == column {
			m.question = q
		}
	}
	return m
}

// detail explains a code.
func detail(code string) string {
	if code == "ambiguous_column" {
		return `Several questions have this name. Name the right one in mapping: {"column":"section.question"}.`
	}
	return `No question or column of the survey has this name. Name its question in mapping, or leave it out with {"column":""}.`
}
