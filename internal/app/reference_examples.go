package app

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/sheet"
)

// What the examples of the reference make, and what those that read or change
// it name.
const (
	ownProtocol  = "did:ixo:protocol/my-devices"
	ownTwin      = "did:ixo:device/stove-7"
	ownOrg       = "did:ixo:org/stoves"
	ownGroup     = "did:ixo:group/field-team"
	ownHousehold = "did:ixo:household/123"
	ownDevice    = "did:ixo:device/sum789"
	ownTemplate  = "my-baseline"
	ownSurvey    = "baseline-kitui"
	noID         = "01890a5d-ac96-774b-bcce-b302099a8057" // ids of this kind are made by the server
)

// examples makes the examples of the areas, which do not know each other, work
// one after the other on a fresh server: reads use the server's own twin or
// bundled records, changes use what an earlier example has made.
type examples struct {
	oracle string
}

// explain fills what the tables of the areas leave open in the document.
func (e examples) explain(doc *huma.OpenAPI) *huma.OpenAPI {
	for _, t := range doc.Tags {
		t.Description = tagText(t.Name)
	}
	for path, item := range doc.Paths {
		for _, op := range []*huma.Operation{item.Get, item.Put, item.Post, item.Patch, item.Delete} {
			if op == nil {
				continue
			}
			for _, p := range op.Parameters {
				e.parameter(op, path, p)
			}
		}
		for _, op := range []*huma.Operation{item.Post, item.Patch} {
			if op != nil && op.RequestBody != nil {
				name(path, op)
			}
		}
	}
	return doc
}

// parameter gives what a request cannot do without an example that works.
// Viewers send the examples of all parameters unasked, so that of one which
// can be left out becomes a part of its text.
func (e examples) parameter(op *huma.Operation, path string, p *huma.Param) {
	if p.In == "path" {
		if text := e.sample(op.Method, path, p.Name); text != "" {
			p.Example = text
		}
		return
	}
	if needed(op.Method, path, p.Name) {
		p.Required = true
		switch {
		case path == "/v1/graph/paths":
			p.Example = e.oracle
		case p.Name == "If-Match":
			p.Example = "*"
		}
		return
	}
	if p.Example == nil {
		return
	}
	p.Description = strings.TrimSpace(fmt.Sprintf("%s Example: `%v`", p.Description, p.Example))
	if len(p.Schema.Examples) == 0 {
		p.Schema.Examples = []any{p.Example}
	}
	p.Example = nil
}

// needed reports whether a route requires a parameter besides the path.
func needed(method, path, name string) bool {
	if name == "If-Match" {
		return method != http.MethodPost && path != "/v1/invites/{id}" && (path != "/v1/api-keys/{id}" || method == http.MethodPatch)
	}
	switch path {
	case "/v1/graph/paths":
		return name == "from" || name == "to"
	case "/v1/names", "/v1/search":
		return true
	case "/v1/sampling/draws":
		return name == "projectId"
	case "/v1/webhooks/{id}/replay":
		return name == "from"
	case "/v1/kpt/{kptId}":
		return name == "reason"
	case "/v1/kpt/analysis":
		return name == "projectId"
	case "/v1/responses/{responseId}":
		return name == "reason" && method == http.MethodDelete
	}
	return false
}

// fixed are the examples of names that mean the same in every path.
var fixed = map[string]string{
	"callId":   "call_5fJ2kQx9T",
	"linkId":   "T0123ABCD.U0456EFGH",
	"gateway":  "africastalking",
	"member":   "did:ixo:person/amina",
	"table":    "Submissions",
	"designId": "kitui-2026",
	"tool":     "weather__warn",
}

// sample is an example of a value in a path; "" leaves that of the route. What
// comes after the collection decides what kind of name it is.
func (e examples) sample(method, path, name string) string {
	collection, _, _ := strings.Cut(strings.TrimPrefix(path, "/v1/"), "/")
	read := method == http.MethodGet
	if text, ok := fixed[name]; ok {
		return text
	}
	switch name {
	case "did":
		return e.did(read, collection, path)
	case "name":
		if read {
			return "name"
		}
	case "id":
		return e.id(collection, path)
	case "sessionId":
		if strings.Contains(path, "/ussd/") {
			return "ATUid_1"
		}
		return "$P8H_w19FVNSqnneNKK3V0LyHv_UM4wLy4q0-28BErKo"
	case "memoryId", "fileId":
		return "fe5f9c1d2a3b0c9d8e7f"
	case "taskId":
		return "task_0198b3c63a5e7c1f9b642f3c5f0a7d11"
	case "runId":
		return "run_01a1df6d-395d-716b-80cb-7f9588fe173c"
	case "file":
		return "errors"
	case "templateId":
		switch {
		case read, strings.HasSuffix(path, "/preview"), strings.HasSuffix(path, "/clone"):
			return "baseline-v1"
		case method == http.MethodDelete: // a draft that no example publishes
			return "imported-baseline"
		}
		return ownTemplate
	case "version":
		if collection == "templates" {
			return "1"
		}
	case "surveyId":
		return ownSurvey
	case "exportId", "importId", "drawId", "reportId":
		return noID
	case "responseId":
		return "resp_789"
	case "sha256":
		return "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	}
	return ""
}

// did is the DID in a path: of an existing twin, or of one that an example
// makes.
func (e examples) did(read bool, collection, path string) string {
	switch collection {
	case "protocols":
		if read || strings.HasSuffix(path, "/validate") {
			return "did:ixo:protocol/clean-cooking"
		}
		return ownProtocol
	case "devices":
		return ownDevice
	case "households", "surveys":
		return ownHousehold
	case "dids":
		return ""
	}
	switch {
	case strings.Contains(path, "/members"):
		return ownGroup
	case strings.HasSuffix(path, "/groups"):
		return ownOrg
	case strings.HasSuffix(path, "/transitions"): // of a twin other than a draft
		return ownHousehold
	case strings.HasSuffix(path, "/transfer"), strings.HasSuffix(path, "/verification"): // of one that no example changes later
		return ownDevice
	case strings.HasSuffix(path, "/relationships/{id}"), strings.HasSuffix(path, "/services/{id}"):
		return ownTwin
	case read:
		return e.oracle
	}
	return ownTwin
}

// id is another name in a path. Those the server makes have to be read from
// the answer that made them.
func (e examples) id(collection, path string) string {
	switch {
	case strings.HasPrefix(path, "/entities/"):
		return e.oracle[strings.LastIndexByte(e.oracle, ':')+1:]
	case collection == "entities", collection == "workspaces":
		return ""
	case strings.HasPrefix(path, "/v1/ussd/accounts/"):
		return "C7K2M9QXA"
	case collection == "api-keys":
		return "key_" + noID
	case collection == "erasures":
		return "erasure_7310428377145344"
	}
	return noID
}

// name names what a body makes in its example.
func name(path string, op *huma.Operation) {
	content := op.RequestBody.Content
	body := content["application/json"]
	switch path {
	case "/v1/protocols":
		say(body, "did", ownProtocol)
	case "/v1/households":
		say(body, "did", ownHousehold)
	case "/v1/devices":
		say(body, "did", ownDevice)
	case "/v1/surveys":
		say(body, "surveyId", ownSurvey)
	case "/v1/webhooks/{id}": // one that is off sends nothing again
		say(content["application/merge-patch+json"], "active", true)
	case "/v1/erasures":
		say(body, "subject", ownHousehold)
	case "/v1/entities":
		say(body, "did", ownTwin)
		say(body, "metadata", map[string]string{"name": "Stove"})
		body.Examples = map[string]*huma.Example{
			"a device":        {Value: body.Example},
			"an organisation": {Value: map[string]any{"did": ownOrg, "type": "Organisation", "protocol": "did:ixo:protocol/organisation", "properties": map[string]any{"name": "Stoves for Kitui"}}},
			"its group": {Value: map[string]any{
				"did": ownGroup, "type": "Group", "protocol": "did:ixo:protocol/group", "properties": map[string]any{"name": "field team"},
				"relationships": []any{map[string]any{"role": "partOf", "target": ownOrg}},
			}},
		}
		body.Example = nil
	case "/v1/devices/{did}/readings/file":
		content["application/x-ndjson"] = text(readingLines)
		content["text/csv"] = text(readingTable)
	case "/v1/surveys/{surveyId}/imports":
		content["application/x-ndjson"] = text(responseLine)
		content["text/csv"] = text(responseTable)
	case "/v1/imports:preview":
		content["text/csv"] = text(importTable)
		op.Description += "\n\nThe table of the CSV example as XLSX: [" + importFile + "](/docs/" + importFile + ")."
	case "/v1/imports":
		content["application/x-ndjson"] = text(importLines)
		content["text/csv"] = text(importTable)
		op.Description += "\n\nThe table of the CSV example as XLSX: [" + importFile + "](/docs/" + importFile + ")."
	}
}

// text is a body other than JSON, with an example.
func text(example string) *huma.MediaType {
	return &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}, Example: example}
}

// say sets a member of the example of a body.
func say(body *huma.MediaType, name string, value any) {
	text, err := json.Marshal(body.Example)
	var all map[string]any
	if err != nil || json.Unmarshal(text, &all) != nil {
		return // not an object: a test of the reference runs what is named here
	}
	all[name] = value
	body.Example = all
}

// The same twins in two of the formats of an import, and the name of the file
// that has the table as a workbook.
const (
	importLines = `{"type":"Household","protocol":"did:ixo:protocol/household","properties":{"district":"Kitui"}}` + "\n" +
		`{"type":"Household","protocol":"did:ixo:protocol/household","properties":{"district":"Kisumu"}}` + "\n"
	importTable = "type,protocol,properties.district\n" +
		"Household,did:ixo:protocol/household,Kitui\n" +
		"Household,did:ixo:protocol/household,Kisumu\n"
	importFile = "import.xlsx"

	readingLines  = `{"timestamp":"2024-02-21T08:00:00Z","temperature":84.5}` + "\n" + `{"timestamp":"2024-02-21T08:05:00Z","temperature":61}` + "\n"
	readingTable  = "timestamp,temperature,values.power\n2024-02-21T08:10:00Z,40.5,1.5\n2024-02-21T08:15:00Z,31,\n"
	responseLine  = `{"responseId":"resp_791","householdId":"did:ixo:household/125","timestamp":"2024-02-20T12:00:00.000Z","responses":{"socio_economic":{"household_size":4}}}` + "\n"
	responseTable = "responseId,householdId,timestamp,socio_economic.household_size\nresp_792,did:ixo:household/126,2024-02-20T12:30:00.000Z,5\n"
	mediaXLSX     = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
)

// serveImportFile writes the table of the CSV example as a workbook.
func serveImportFile(w http.ResponseWriter) error {
	w.Header().Set("Content-Type", mediaXLSX)
	book, err := sheet.NewBook(w, "twins")
	if err != nil {
		return err
	}
	if err := book.Sheet(); err != nil {
		return err
	}
	for line := range strings.Lines(importTable) {
		if err := book.Row(strings.Split(strings.TrimSpace(line), ",")...); err != nil {
			return err
		}
	}
	return book.Close()
}
