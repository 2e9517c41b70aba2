package collect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/test/server"
)

const (
	cooker    = "did:ixo:entity:00112233445566778899aabbccddeeff"
	foreign   = "did:ixo:entity:ffeeddccbbaa99887766554433221100"
	entityDoc = `{"templateId":"cookers","title":"Cookers","entity":{"list":"cookers","label":"serial","id":"cooker","create":"cooker == null","update":"cooker != null"},
		"sections":[{"id":"s","questions":[{"id":"ok","type":"consent"},{"id":"cooker","type":"entity_ref","list":"cookers"},
		{"id":"serial","type":"text","required":true,"saveTo":"serial"},{"id":"fuel","type":"text","saveTo":"fuel_type"},{"id":"owner","type":"text","pii":"direct"}]}]}`
)

// phoneGet reads a file as a phone does.
func (f *field) phoneGet(path string) (int, string) {
	f.t.Helper()
	res, err := http.Get(f.now.Load().URL + "/v1/openrosa/" + f.secret + path)
	if err != nil {
		f.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// asks sends an interview whose form makes or changes a twin.
func (f *field) asks(n int, entity, cookerDID, serial, fuel string) int {
	f.t.Helper()
	raw := fmt.Sprintf(`<data id="cookers" version="1"><hearth_meta_start>2026-02-20T10:00:00.000+03:00</hearth_meta_start><hearth_meta_end>2026-02-20T10:30:00.000+03:00</hearth_meta_end>`+
		`<hearth_household>did:ixo:household/%d</hearth_household><s><ok>true</ok><cooker>%s</cooker><serial>%s</serial><fuel>%s</fuel></s>`+
		`<meta><instanceID>uuid:e%d</instanceID><entity dataset="cookers" %s><label>%s</label></entity></meta></data>`, n, cookerDID, serial, fuel, n, entity, serial)
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	part, err := m.CreateFormFile("xml_submission_file", "submission.xml")
	if err == nil {
		_, err = part.Write([]byte(raw))
	}
	if err != nil {
		f.t.Fatal(err)
	}
	_ = m.Close()
	res, err := http.Post(f.now.Load().URL+"/v1/openrosa/"+f.secret+"/submission", m.FormDataContentType(), &b)
	if err != nil {
		f.t.Fatal(err)
	}
	defer res.Body.Close()
	if text, _ := io.ReadAll(res.Body); res.StatusCode != http.StatusCreated {
		f.t.Errorf("interview %d = %d %s", n, res.StatusCode, text)
	}
	return res.StatusCode
}

// proposed is what waits, or was decided.
type proposed struct {
	ProposalID string `json:"proposalId"`
	Action     string `json:"action"`
	Twin       string `json:"twin"`
	Status     string `json:"status"`
	Conflict   string `json:"conflict"`
	Revision   int64  `json:"revision"`
	Version    string `json:"version"`
	ResponseID string `json:"responseId"`
	Changes    []struct {
		Property string `json:"property"`
		Base     any    `json:"base"`
		Stored   any    `json:"stored"`
		Proposed any    `json:"proposed"`
		Conflict bool   `json:"conflict"`
	} `json:"changes"`
}

func (f *field) proposals(status string, want int) []proposed {
	f.t.Helper()
	var page struct {
		Items []proposed `json:"items"`
	}
	f.must("GET", "/v1/surveys/cookers/proposals?status="+status, nil, &page)
	if len(page.Items) != want {
		f.t.Fatalf("%d proposals are %s, want %d: %+v", len(page.Items), status, want, page.Items)
	}
	return page.Items
}

// decide decides about the version of a proposal that was read.
func (f *field) decide(p proposed, body string, status int) {
	f.t.Helper()
	if body = strings.TrimSuffix(body, "}") + `,"version":"` + p.Version + `"}`; p.Version == "" {
		f.t.Errorf("%s has no version", p.ProposalID)
	}
	f.send(p, body, status, "")
}

// send decides, and looks for what the answer says.
func (f *field) send(p proposed, body string, status int, want string) {
	f.t.Helper()
	a, err := f.owner().Do(f.t.Context(), "POST", "/v1/surveys/cookers/proposals/"+p.ProposalID+"/decision", []byte(body))
	if err != nil || a.Status != status || !strings.Contains(string(a.Body), want) {
		f.t.Fatalf("decide %s %s = %d %s, %v, want %d %s", p.ProposalID, body, a.Status, a.Body, err, status, want)
	}
}

// unread wants proposals to be kept from whoever has these scopes alone: they say which
// twin an interview was about.
func (f *field) unread(scopes ...string) {
	f.t.Helper()
	var key struct {
		Text string `json:"key"`
	}
	body, _ := json.Marshal(map[string]any{"name": "reader", "scopes": scopes})
	f.must("POST", "/v1/api-keys", body, &key)
	reader := &server.Client{URL: f.now.Load().URL, Key: key.Text}
	if a, err := reader.Do(f.t.Context(), "GET", "/v1/surveys/cookers/proposals", nil); err != nil || a.Status != 403 || !strings.Contains(string(a.Body), "SCOPE_MISSING") {
		f.t.Errorf("proposals for %v = %d %s, %v, want 403", scopes, a.Status, a.Body, err)
	}
}

type held struct {
	Revision   int64             `json:"revision"`
	Properties map[string]string `json:"properties"`
	Metadata   map[string]string `json:"metadata"`
}

func (f *field) twin(did string) (out held) {
	f.t.Helper()
	f.must("GET", "/v1/entities/"+url.PathEscape(did), nil, &out)
	return out
}

// TestEntities has a phone get a list of twins, and ask for a new one and for changes,
// two of which clash. Nothing changes before somebody accepts it, and what waits
// survives that the server is killed.
func TestEntities(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		offered(t, server.Options{Binary: server.Binary(t), Dir: t.TempDir()})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		offered(t, server.Options{Binary: server.Binary(t), Dir: t.TempDir(), DatabaseURL: dbtest.URL(t)})
	})
}

func offered(t *testing.T, o server.Options) {
	t.Helper()
	f := &field{t: t, options: o}
	f.start()
	t.Cleanup(func() { _ = f.now.Load().Kill() })
	f.must("POST", "/v1/templates", []byte(entityDoc), &f.doc)
	f.must("POST", "/v1/templates/cookers/publish", []byte(`{}`), nil)
	f.must("POST", "/v1/entities", []byte(`{"did":"`+cooker+`","type":"Cooker","protocol":"did:ixo:protocol/clean-cooking","properties":{"serial":"A-1","fuel_type":"wood","notes":"behind the house"},"metadata":{"name":"First cooker"},"relationships":[{"role":"project","target":"did:ixo:project/1"}]}`), nil)
	f.must("POST", "/v1/entities", []byte(`{"did":"`+foreign+`","type":"Cooker","protocol":"did:ixo:protocol/clean-cooking","properties":{"serial":"Z-1","fuel_type":"wood"}}`), nil) // of no project
	var address struct {
		URL       string `json:"url"`
		Collector string `json:"collector"`
	}
	f.must("POST", "/v1/collect/addresses", []byte(`{"name":"Phones","origin":"http://phones.example"}`), &address)
	f.secret = address.URL[strings.LastIndexByte(address.URL, '/')+1:]
	survey := `{"surveyId":"cookers","type":"BaselineSurvey","projectId":"did:ixo:project/1","templateId":"cookers","sampling":{"method":"census"},"collectors":["` + address.Collector + `"]`
	for list, want := range map[string]string{
		``: "/entityLists",
		`,"entityLists":[{"name":"cookers","protocol":"did:ixo:protocol/clean-cooking"}]`:                                              "/entityLists/0/type",
		`,"entityLists":[{"name":"cookers","protocol":"did:ixo:protocol/none","type":"Cooker"}]`:                                       "/entityLists/0/protocol",
		`,"entityLists":[{"name":"cookers","protocol":"did:ixo:protocol/clean-cooking","type":"Cooker","filter":"eq(nothing,1)"}]`:     "/entityLists/0/filter",
		`,"entityLists":[{"name":"cookers","protocol":"did:ixo:protocol/clean-cooking","type":"Cooker","properties":["colour"]}]`:      "/entityLists/0/properties",
		`,"entityLists":[{"name":"__cookers","protocol":"did:ixo:protocol/clean-cooking","type":"Cooker","properties":["fuel_type"]}]`: "/entityLists/0/name",
	} {
		a, err := f.owner().Do(t.Context(), "POST", "/v1/surveys", []byte(survey+list+"}"))
		if err != nil || a.Status != 400 || !strings.Contains(string(a.Body), want+`"`) {
			t.Errorf("%s = %d %s, %v, want %s", list, a.Status, a.Body, err, want)
		}
	}
	f.must("POST", "/v1/surveys", []byte(survey+`,"entityLists":[{"name":"cookers","protocol":"did:ixo:protocol/clean-cooking","type":"Cooker","properties":["serial","fuel_type"]}]}`), nil)
	f.must("POST", "/v1/surveys/cookers/activate", []byte(`{}`), nil)

	if status, form := f.phoneGet("/forms/cookers"); status != 200 || !strings.Contains(form, `entities:entities-version="2024.1.0"`) || !strings.Contains(form, `entities:saveto="fuel_type"`) || !strings.Contains(form, "jr://file-csv/cookers.csv") {
		t.Errorf("form = %d %s", status, form)
	}
	if _, manifest := f.phoneGet("/forms/cookers/manifest"); !strings.Contains(manifest, `<mediaFile type="approvalEntityList"><filename>cookers.csv</filename><hash>md5:`) {
		t.Errorf("manifest = %s", manifest)
	}
	if _, list := f.phoneGet("/forms/cookers/files/cookers.csv"); list != "name,label,__version,serial,fuel_type\n"+cooker+",First cooker,1,A-1,wood\n" {
		t.Errorf("list = %q", list)
	}

	const fresh = "5f1b0a3e-2a64-4c0b-9a3c-3c1f4f6f2c11"
	f.asks(1, `id="`+fresh+`" create="1" update="" baseVersion=""`, "", "B-7", "gas")
	f.asks(1, `id="`+fresh+`" create="1" update="" baseVersion=""`, "", "B-7", "gas") // heard by nobody
	if err := f.now.Load().Kill(); err != nil {
		t.Fatal(err)
	}
	f.start()
	made := f.proposals("open", 1)[0]
	if made.Action != "create" || made.Conflict != "none" || made.Twin != "did:ixo:entity:5f1b0a3e2a644c0b9a3c3c1f4f6f2c11" {
		t.Errorf("proposal = %+v", made)
	}
	if a, err := f.owner().Do(t.Context(), "GET", "/v1/entities/"+url.PathEscape(made.Twin), nil); err != nil || a.Status != 404 {
		t.Errorf("before it is accepted = %d, %v, want 404", a.Status, err)
	}
	f.unread("entities:read", "entities:write", "responses:read", "surveys:read")
	f.unread("responses:pii", "responses:read", "surveys:read")
	f.decide(made, `{"decision":"maybe"}`, 400)
	f.decide(made, `{"decision":"accept"}`, 200)
	f.decide(made, `{"decision":"accept"}`, 409)
	if got := f.twin(made.Twin); got.Properties["serial"] != "B-7" || got.Properties["fuel_type"] != "gas" || got.Metadata["name"] != "B-7" {
		t.Errorf("twin = %+v", got)
	}

	f.clashing()
	f.straying()
	f.branching()
}

// branching has a phone change a twin twice without a network, and its interviews come in
// the wrong order, after somebody else has changed another property.
func (f *field) branching() {
	f.t.Helper()
	began := f.twin(cooker).Revision
	entity := func(base int64) string {
		return fmt.Sprintf(`id="%s" create="" update="1" baseVersion="%d" trunkVersion="%d" branchId="b1"`, cooker, base, began)
	}
	a, err := f.owner().Do(f.t.Context(), "PATCH", "/v1/entities/"+url.PathEscape(cooker), []byte(`{"properties":{"notes":"under the roof"}}`), "If-Match", "*", "Content-Type", "application/merge-patch+json")
	if err != nil || a.Status != 200 {
		f.t.Fatalf("patch = %d %s, %v", a.Status, a.Body, err)
	}
	// The version that the phone has counted to itself is no revision of the twin.
	f.asks(8, entity(began+1), cooker, "A-6", "ethanol")
	if second := f.proposals("open", 1)[0]; second.Conflict != "soft" {
		f.t.Errorf("the second change, which came first = %+v, want a soft conflict", second)
	}
	f.asks(7, entity(began), cooker, "A-5", "ethanol")
	open := f.proposals("open", 2)
	f.send(open[0], `{"decision":"accept","reason":"seen","version":"`+open[0].Version+`"}`, 409, "PROPOSAL_WAITS")
	f.decide(open[1], `{"decision":"accept","reason":"The notes are of somebody else."}`, 200)
	last := f.proposals("open", 1)[0]
	if last.Conflict != "none" {
		f.t.Errorf("the second change after the first = %+v, want no conflict", last)
	}
	f.decide(last, `{"decision":"accept"}`, 200)
	if got := f.twin(cooker); got.Properties["serial"] != "A-6" || got.Properties["notes"] != "under the roof" {
		f.t.Errorf("twin = %+v, want both changes of the phone and that of somebody else", got)
	}
}

// straying has an interview ask for a change of a twin that is not of its list, and
// another that is corrected after somebody has read what it asks.
func (f *field) straying() {
	f.t.Helper()
	f.asks(5, `id="`+foreign+`" create="" update="1" baseVersion="1"`, foreign, "Z-1", "gas")
	stray := f.proposals("open", 1)[0]
	f.send(stray, `{"decision":"accept","version":"`+stray.Version+`"}`, 409, "TWIN_OUTSIDE_LIST")
	f.decide(stray, `{"decision":"reject","reason":"This is no cooker of the project."}`, 200)
	if got := f.twin(foreign); got.Revision != 1 {
		f.t.Errorf("a twin outside the list has changed: %+v", got)
	}

	f.asks(6, `id="`+cooker+`" create="" update="1" baseVersion="4"`, cooker, "A-3", "ethanol")
	read := f.proposals("open", 1)[0]
	f.send(read, `{"decision":"accept"}`, 400, "/version")
	a, err := f.owner().Do(f.t.Context(), "PATCH", "/v1/responses/"+url.PathEscape(read.ResponseID)+"?reason=typo", []byte(`{"responses":{"s":{"serial":"A-4"}}}`), "If-Match", "*", "Content-Type", "application/merge-patch+json")
	if err != nil || a.Status != 200 {
		f.t.Fatalf("correct = %d %s, %v", a.Status, a.Body, err)
	}
	f.send(read, `{"decision":"accept","version":"`+read.Version+`"}`, 412, "PROPOSAL_CHANGED")
	again := f.proposals("open", 1)[0]
	if again.ProposalID != read.ProposalID || again.Version == read.Version {
		f.t.Errorf("corrected = %+v, want another version of %s", again, read.ProposalID)
	}
	f.decide(again, `{"decision":"accept"}`, 200)
	if got := f.twin(cooker); got.Properties["serial"] != "A-4" {
		f.t.Errorf("twin = %+v, want the corrected serial number", got)
	}
}

// clashing has two phones change what a third has changed meanwhile.
func (f *field) clashing() {
	t := f.t
	t.Helper()
	// Two phones knew the same revision: the first change goes in, the second clashes.
	f.asks(2, `id="`+cooker+`" create="" update="1" baseVersion="1"`, cooker, "A-1", "pellets")
	f.asks(3, `id="`+cooker+`" create="" update="1" baseVersion="1"`, cooker, "A-1", "ethanol")
	open := f.proposals("open", 2)
	f.decide(open[0], `{"decision":"accept"}`, 200)
	clash := f.proposals("open", 1)[0]
	if clash.Conflict != "hard" || clash.Revision != 2 || clash.ProposalID != open[1].ProposalID {
		t.Errorf("the second = %+v, want a hard conflict", clash)
	}
	for _, c := range clash.Changes {
		if want := c.Property == "fuel_type" || c.Property == "label"; c.Conflict && !want || c.Property == "fuel_type" && (c.Base != "wood" || c.Stored != "pellets" || c.Proposed != "ethanol" || !c.Conflict) {
			t.Errorf("change = %+v", c)
		}
	}
	f.decide(clash, `{"decision":"accept"}`, 400)                                     // why?
	f.decide(clash, `{"decision":"accept","reason":"seen","revision":1}`, 412)        // of another revision
	f.decide(clash, `{"decision":"accept","reason":"seen","leave":["nothing"]}`, 400) // no such property
	f.decide(clash, `{"decision":"reject"}`, 400)
	f.decide(clash, `{"decision":"accept","reason":"The second visit was later.","revision":2}`, 200)
	if got := f.twin(cooker); got.Revision != 3 || got.Properties["fuel_type"] != "ethanol" || got.Properties["notes"] != "behind the house" {
		t.Errorf("twin = %+v", got)
	}
	// Somebody has changed another property meanwhile: that is no reason to lose either.
	if a, err := f.owner().Do(t.Context(), "PATCH", "/v1/entities/"+url.PathEscape(cooker), []byte(`{"properties":{"notes":"moved"}}`), "If-Match", `"3"`, "Content-Type", "application/merge-patch+json"); err != nil || a.Status != 200 {
		t.Fatalf("patch = %d %s, %v", a.Status, a.Body, err)
	}
	f.asks(4, `id="`+cooker+`" create="" update="1" baseVersion="3"`, cooker, "A-2", "ethanol")
	if soft := f.proposals("open", 1)[0]; soft.Conflict != "soft" {
		t.Errorf("another property = %+v, want a soft conflict", soft)
	} else {
		f.decide(soft, `{"decision":"reject","reason":"The serial number is wrong."}`, 200)
	}
	if got := f.proposals("rejected", 1)[0]; got.Conflict != "soft" {
		t.Errorf("rejected = %+v", got)
	}
	f.proposals("accepted", 3)
	if got := f.twin(cooker); got.Properties["serial"] != "A-1" {
		t.Errorf("a rejected change was made: %+v", got)
	}
}
