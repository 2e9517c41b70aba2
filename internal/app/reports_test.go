package app_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/internal/audit"
	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/emission"
)

// checkClaims wants a claim of every status in a demo, and its credentials to verify.
func (s *show) checkClaims(t *testing.T, project string) {
	t.Helper()
	found := map[string]int{}
	for c, err := range s.api.Claims.List(t.Context(), client.ClaimQuery{ProjectID: project}) {
		if err != nil {
			t.Fatal(err)
		}
		found[c.Status]++
	}
	for _, status := range []string{"pending", "flagged", "approved", "rejected", "withdrawn", "invalidated"} {
		if found[status] == 0 {
			t.Errorf("no claim of the demo is %s: %v", status, found)
		}
	}
}

// written is what somebody wrote who should not have: no bundle holds it, nor its hash.
const written = "Wanjiru's neighbour at the mill"

// calculated is the data of a claim that rests on a calculation.
func calculated(t *testing.T) map[string]any {
	t.Helper()
	d := emission.Example()
	e := d.Estimates["project test"]
	e.Source = written
	d.Estimates["project test"] = e
	got, err := emission.Calculate(d)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]any{"calculation": got}
}

// warm reads every status list of a project, so that the server keeps them for a while.
func (s *show) warm(t *testing.T, project string) {
	t.Helper()
	ctx, n := t.Context(), 0
	for c, err := range s.api.Credentials.List(ctx, client.CredentialQuery{ProjectID: project}) {
		if err != nil {
			t.Fatal(err)
		}
		one, err := s.api.Credentials.Get(ctx, c.ID)
		if err != nil {
			t.Fatal(err)
		}
		places, _ := one.VerifiableCredential["credentialStatus"].([]any)
		for _, p := range places {
			at, _ := p.(map[string]any)["statusListCredential"].(string)
			if _, err := s.api.Credentials.StatusList(ctx, at[strings.LastIndexAny(at, "/:")+1:]); err != nil {
				t.Fatal(err)
			}
			n++
		}
	}
	if n == 0 {
		t.Fatal("no credential is in a status list")
	}
}

// checkReport makes the bundle of a demo as an auditor, right after a state has changed,
// and verifies it with nothing but the file.
func (s *show) checkReport(t *testing.T, project string, change func()) {
	t.Helper()
	ctx := t.Context()
	key, err := s.api.Keys.Create(ctx, client.KeyDraft{Name: "auditor", Role: "auditor", Projects: []string{project}})
	if err != nil {
		t.Fatal(err)
	}
	auditor := s.as(t, key.Text)
	s.warm(t, project)
	change()
	j, err := auditor.Reports.Create(ctx, client.AuditReportDraft{Project: project})
	s.wait(t, j, err)
	r, err := auditor.Reports.Get(ctx, j.ID)
	if err != nil || r.Links.File == "" || !strings.HasPrefix(r.Issuer, "did:key:") {
		t.Fatalf("report = %+v, %v", r, err)
	}
	in, err := auditor.Reports.File(ctx, j.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	file, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	got := verified(t, file, r.Issuer)
	if !got.Verified() || !got.Vouched {
		t.Fatalf("the bundle: %+v", got)
	}
	for _, c := range got.Checks {
		if c.Count == 0 || c.Name == "calculations" && c.Count != 1 {
			t.Errorf("%d were checked of %s", c.Count, c.Name)
		}
	}
	for _, note := range []string{"1 claims name a calculation that does not count", "2 pieces of evidence are text", "no entries of the audit log"} {
		if !strings.Contains(strings.Join(got.Notes, "\n"), note) {
			t.Errorf("no note says %q: %q", note, got.Notes)
		}
	}
	if other := verified(t, file, "did:key:z6MktwupdmLXVVqTzCw4i46r4uGyosGXRnR3XjN4Zq7oMMsw"); other.Verified() || other.Vouched {
		t.Errorf("another issuer: %+v", other)
	}
	if nobody := verified(t, file, ""); !nobody.Verified() || nobody.Vouched || nobody.Key == "" {
		t.Errorf("without an issuer: %+v", nobody)
	}
	s.checkTampered(t, file, r.Issuer)
	s.checkNobody(t, file)
}

func verified(t *testing.T, file []byte, issuer string) *audit.Report {
	t.Helper()
	got, err := audit.Verify(t.Context(), bytes.NewReader(file), int64(len(file)), issuer)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// checkTampered changes a byte of each file of a bundle, which is then named, and what
// follows from files is found out too where the hashes do not tell.
func (s *show) checkTampered(t *testing.T, file []byte, issuer string) {
	t.Helper()
	for name, change := range map[string][2]string{
		"claims.ndjson": {`"status":"approved"`, `"status":"rejected"`}, "evaluations.ndjson": {`"outcome":"rejected"`, `"outcome":"approved"`}, "credentials.ndjson": {`"kind":"fuel-saved"`, `"kind":"fuel-burnt"`},
		"figures.json": {`"estimate":`, `"estimate":9`}, "README.txt": {"auditors", "auditorz"},
	} {
		changed, full := rewritten(t, file, name, change)
		got := verified(t, changed, issuer)
		files := got.Checks[slices.IndexFunc(got.Checks, func(c audit.Check) bool { return c.Name == "files" })]
		if len(files.Wrong) != 1 || !strings.HasPrefix(files.Wrong[0], full+" was changed") {
			t.Errorf("a byte of %s: %+v", full, files.Wrong)
		}
		deeper := 0
		for _, c := range got.Checks {
			if c.Name != "files" {
				deeper += len(c.Wrong)
			}
		}
		if (deeper == 0) != (name == "README.txt") {
			t.Errorf("%s was changed, and %d things do not follow: %+v", full, deeper, got.Checks)
		}
	}
}

// rewritten is a bundle with something else in the first file whose name ends so, and
// that has it.
func rewritten(t *testing.T, file []byte, end string, change [2]string) (out []byte, full string) {
	t.Helper()
	in, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range in.File {
		text := content(t, f)
		if full == "" && strings.HasSuffix(f.Name, end) && strings.Contains(text, change[0]) {
			full, text = f.Name, strings.Replace(text, change[0], change[1], 1)
		}
		to, err := w.Create(f.Name)
		if err == nil {
			_, err = to.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil || full == "" {
		t.Fatalf("nothing to change in %s: %v", end, err)
	}
	return b.Bytes(), full
}

func content(t *testing.T, f *zip.File) string {
	t.Helper()
	in, err := f.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	text, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// secrets are names, numbers and DIDs of households and people, principals of keys, what
// was written, and the hashes of all these.
func (s *show) secrets(t *testing.T) (out []string) {
	t.Helper()
	kinds := map[string]int{}
	add := func(kind, text string) {
		if text == "" {
			return
		}
		kinds[kind]++
		sum, quoted := sha256.Sum256([]byte(text)), sha256.Sum256([]byte(strconv.Quote(text)))
		out = append(out, text, hex.EncodeToString(sum[:]), hex.EncodeToString(quoted[:]))
	}
	add("written", written)
	for _, kind := range []string{"Household", "Person"} {
		for e, err := range s.api.Entities.List(t.Context(), client.EntityQuery{Type: kind, Limit: 100}) {
			if err != nil {
				t.Fatal(err)
			}
			add(kind, e.DID)
			for _, name := range []string{"name", "phone"} {
				v, _ := e.Properties[name].(string)
				add(name, v)
			}
		}
	}
	for k, err := range s.api.Keys.List(t.Context(), client.PageQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		add("key", k.Principal)
	}
	for c, err := range s.api.Claims.List(t.Context(), client.ClaimQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		add("claimant", c.Claimant)
		out = append(out, c.CID)
	}
	if kinds["Household"] < 30 || kinds["Person"] == 0 || kinds["key"] < 3 || kinds["claimant"] < 3 {
		t.Fatalf("too few secrets: %v", kinds)
	}
	return out
}

// checkNobody wants nothing of a person in a bundle.
func (s *show) checkNobody(t *testing.T, file []byte) {
	t.Helper()
	secrets := s.secrets(t)
	in, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range in.File {
		text := content(t, f)
		for _, secret := range secrets {
			if secret != "" && strings.Contains(text, secret) {
				t.Fatalf("%s holds %q", f.Name, secret)
			}
		}
	}
}

// TestReaderChoosesNoSigner: whoever only reads has no oracle sign that has nothing to do
// with the project, and no key made for it.
func TestReaderChoosesNoSigner(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ctx, err := h.Auth.AsOwner(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	key := func(d auth.Draft) string {
		t.Helper()
		d.Name = "key"
		k, err := h.Auth.Create(ctx, d)
		if err != nil {
			t.Fatal(err)
		}
		return k.Text
	}
	const keeper = "did:ixo:agent/901"
	keeps := key(auth.Draft{Principal: keeper, Scopes: []string{"*"}})
	made := func(body string) string {
		t.Helper()
		w := h.as(keeps, "POST", "/v1/entities", body)
		var out struct {
			DID string `json:"did"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || w.Code != 201 {
			t.Fatalf("%s: %d %s", body, w.Code, w.Body)
		}
		return out.DID
	}
	project, oracle := made(`{"type":"project","protocol":"did:ixo:protocol/project"}`), made(`{"type":"oracle","protocol":"did:ixo:protocol/oracle"}`)
	auditor := key(auth.Draft{Principal: "did:ixo:agent/900", Role: "auditor"})
	limited := key(auth.Draft{Principal: "did:ixo:agent/902", Role: "auditor", Projects: []string{project}})
	asks := func(name, key, body, want string) {
		t.Helper()
		w := h.as(key, "POST", "/v1/reports", body)
		if got := strconv.Itoa(w.Code); !strings.HasPrefix(want, got) || !strings.Contains(w.Body.String(), strings.TrimPrefix(strings.TrimPrefix(want, got), " ")) {
			t.Errorf("%s: %d %s, want %s", name, w.Code, w.Body, want)
		}
	}
	wants := func(name, key, want string) {
		t.Helper()
		asks(name, key, `{"projectId":"`+project+`","oracle":"`+oracle+`"}`, want)
	}
	for _, body := range []string{`{"projectId":"` + oracle + `"}`, `{"projectId":"` + oracle + `","oracle":"` + oracle + `"}`} {
		asks("what is no project", keeps, body, `404 "pointer":"/projectId"`)
	}
	asks("no such project", keeps, `{"projectId":"did:x:none","oracle":"`+oracle+`"}`, `404 "pointer":"/projectId"`)
	asks("no such oracle", keeps, `{"projectId":"`+project+`","oracle":"did:x:none"}`, `404 "pointer":"/oracle"`)
	wants("a stranger who reads", auditor, "409 REPORT_NEEDS_ORACLE")
	wants("one limited to the project", limited, "404 ENTITY_NOT_FOUND")
	wants("a key of its controller that reads", key(auth.Draft{Principal: keeper, Role: "auditor"}), "409 REPORT_NEEDS_ORACLE")
	wants("one who may change all but controls nothing", key(auth.Draft{Principal: "did:ixo:agent/903", Scopes: []string{"*"}}), "409 REPORT_NEEDS_ORACLE")
	var keys int
	if err := h.DB.QueryRow(t.Context(), `SELECT count(*) FROM issuer_keys k JOIN entities e ON e.nid = k.issuer WHERE e.did = $1`, oracle).Scan(&keys); err != nil || keys != 0 {
		t.Errorf("the oracle has %d keys: %v", keys, err)
	}
	wants("its controller", keeps, "202")
	h.exec(t, `INSERT INTO credentials (nid, ws, did, page, uri, project, subject, claim, issuer, list, place, state, suspended, revoked, retired, disputed, issued_at, salt, says, document)
		SELECT 7, ws, 'did:x:7', 'page', 'urn:y', $2, 0, 0, nid, 0, 9, 'active', 0, 0, 0, 0, created_at, '', '{}', '{}' FROM entities WHERE did = $1`, oracle, project)
	wants("a reader, once it has issued for the project", auditor, "202")
	wants("one limited to the project, then", limited, "202")
}
