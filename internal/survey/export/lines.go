package export

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/web"
)

// About describes an export, in JSON-LD and in a sheet of XLSX.
type About struct {
	Survey          string
	TemplateID      string
	TemplateVersion int
	AsOf            time.Time
	Filter          string
	Verification    []string // states; those of no state are all but superseded and invalidated
	Rounds          []int
	Written         int64 // rows that are in the file already, when it is taken up
}

// rows are the rows of the sheet. A filter that names a person is left out of
// files that name nobody.
func (a *About) rows(l *Layout) [][]string {
	filter, rounds := a.Filter, strings.Trim(strings.ReplaceAll(fmt.Sprint(a.Rounds), " ", Separator), "[]")
	if l.cfg.Level != Full && strings.Contains(filter, "did:") {
		filter = "(it names somebody)"
	}
	return [][]string{
		{"surveyId", a.Survey},
		{"templateId", a.TemplateID},
		{"templateVersion", strconv.Itoa(a.TemplateVersion)},
		{"asOf", a.AsOf.UTC().Format(web.TimeFormat)},
		{"pii", string(l.cfg.Level)},
		{"shape", string(l.cfg.Shape)},
		{"filter", filter},
		{"verification", strings.Join(a.Verification, Separator)},
		{"rounds", rounds},
	}
}

// linkContext explains the members of JSON-LD. It is in every file, so that
// nothing has to be fetched to read one. Answers stay JSON, in the form of
// their template.
const linkContext = `{"@version":1.1,"@vocab":"urn:hearth:vocab:","xsd":"http://www.w3.org/2001/XMLSchema#",` +
	`"ResponseSet":"urn:hearth:vocab:ResponseSet","Response":"urn:hearth:vocab:Response","Answer":"urn:hearth:vocab:Answer",` +
	`"survey":{"@id":"urn:hearth:vocab:survey","@type":"@id"},"response":{"@id":"urn:hearth:vocab:response","@type":"@id"},` +
	`"asOf":{"@type":"xsd:dateTime"},"timestamp":{"@type":"xsd:dateTime"},"startedAt":{"@type":"xsd:dateTime"},"receivedAt":{"@type":"xsd:dateTime"},` +
	`"updatedAt":{"@type":"xsd:dateTime"},"verifiedAt":{"@type":"xsd:dateTime"},` +
	`"responses":{"@id":"urn:hearth:vocab:responses","@type":"@json"},"location":{"@id":"urn:hearth:vocab:location","@type":"@json"},` +
	`"metadata":{"@id":"urn:hearth:vocab:metadata","@type":"@json"},"value":{"@id":"urn:hearth:vocab:value","@type":"@json"}}`

// lineWriter writes JSON, a line for each response or answer: NDJSON, or the
// nodes of a graph in JSON-LD.
type lineWriter struct {
	l      *Layout
	heads  []int
	linked bool
	about  About
	rows
}

func surveyIRI(id string) string   { return "urn:hearth:survey:" + url.PathEscape(id) }
func responseIRI(id string) string { return "urn:hearth:response:" + url.PathEscape(id) }

// Begin writes what stands before the first line.
func (w *lineWriter) Begin(b []byte) ([]byte, error) {
	if !w.linked {
		return b, nil
	}
	node, err := json.Marshal(struct {
		ID              string    `json:"@id"`
		Type            string    `json:"@type"`
		Survey          string    `json:"surveyId"`
		TemplateID      string    `json:"templateId"`
		TemplateVersion int       `json:"templateVersion"`
		AsOf            time.Time `json:"asOf"`
		Level           Level     `json:"pii"`
		Shape           Shape     `json:"shape"`
	}{surveyIRI(w.about.Survey), "ResponseSet", w.about.Survey, w.about.TemplateID, w.about.TemplateVersion, w.about.AsOf, w.l.cfg.Level, w.l.cfg.Shape})
	b = append(append(append(b, `{"@context":`...), linkContext...), ",\n\"@graph\":[\n"...)
	return append(b, node...), err
}

// Add writes the lines of a response.
func (w *lineWriter) Add(b []byte, r *Response) ([]byte, error) {
	var err error
	if w.l.cfg.Shape == Wide {
		w.rows++
		b, err = w.l.appendRecord(w.before(b), r, w.response)
		return w.after(b), err
	}
	err = w.l.each(r, func(a longRow) {
		w.rows++
		b = w.after(w.l.appendLong(w.before(b), w.heads, &a, w.answer))
	})
	return b, err
}

func (w *lineWriter) before(b []byte) []byte {
	if w.linked {
		return append(b, ",\n"...)
	}
	return b
}

func (w *lineWriter) after(b []byte) []byte {
	if w.linked {
		return b
	}
	return append(b, '\n')
}

// response begins the node of a response.
func (w *lineWriter) response(b []byte) []byte {
	if !w.linked {
		return b
	}
	b = quote(append(b, `"@id":`...), responseIRI(w.l.row[0].text()))
	b = append(b, `,"@type":"Response","survey":`...)
	return quote(b, surveyIRI(w.about.Survey))
}

// answer begins the node of an answer.
func (w *lineWriter) answer(b []byte) []byte {
	if !w.linked {
		return b
	}
	b = append(b, `"@type":"Answer","response":`...)
	return quote(b, responseIRI(w.l.row[0].text()))
}

// End writes what stands after the last line.
func (w *lineWriter) End(b []byte) ([]byte, bool, error) {
	if w.linked {
		b = append(b, "\n]}\n"...)
	}
	return b, false, nil
}
