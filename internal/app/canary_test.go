package app_test

import (
	"bytes"
	"crypto/ed25519"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/app"
	"github.com/hearth-dmrv/hearth/internal/config"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity/erase"
	"github.com/hearth-dmrv/hearth/internal/privacy"
	"github.com/hearth-dmrv/hearth/internal/ucan"
)

// What is planted in every member that belongs to her.
const (
	herName  = "Zawadi Canaryson"
	herPhone = "+254799123987"
	herEmail = "zawadi.canary@example.org"
	herPlace = "Canaryplace"
	herPIN   = "86427"
	herWords = "canary-words-zq7"
	// What others wrote about her elsewhere.
	elsewhere = "elsewhere-zq8"
)

// journal is a log that may be written and read at once.
type journal struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.String()
}

// canaries are what must not be found. A PIN is short: it counts where no other
// digits stand around it.
func canaries(customerID string) map[string]*regexp.Regexp {
	out := map[string]*regexp.Regexp{"PIN": regexp.MustCompile(`(^|[^0-9a-fA-F])` + herPIN + `([^0-9a-fA-F]|$)`)}
	for name, text := range map[string]string{
		"name": herName, "first name": "Zawadi", "phone": herPhone[1:], "email": herEmail, "place": herPlace, "words": herWords, "customer id": customerID,
	} {
		out[name] = regexp.MustCompile(`(?i)` + regexp.QuoteMeta(text))
	}
	return out
}

// found lists the canaries in a text.
func found(where string, data []byte, all map[string]*regexp.Regexp) []string {
	var out []string
	for name, form := range all {
		if at := form.FindIndex(data); at != nil {
			out = append(out, where+": "+name+" in "+strings.ToValidUTF8(string(data[max(0, at[0]-60):min(len(data), at[1]+60)]), "."))
		}
	}
	return out
}

// stored is all that the store has: every file of the data folder byte by byte,
// or a dump of PostgreSQL.
func (p *programme) stored(t *testing.T, dsn string, each func(name string, data []byte)) {
	t.Helper()
	dir := p.Dir()
	if dsn != "" {
		dump := filepath.Join(t.TempDir(), "dump.sql")
		if err := db.RunTool(t.Context(), "pg_dump", dsn, "--format=plain", "--no-owner", "--file="+dump); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(dump)
		if err != nil {
			t.Fatal(err)
		}
		each("pg_dump", data)
	}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err == nil {
			each(filepath.Base(path), data)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestErasureIsWhole plants what belongs to somebody in every member there is
// and what others wrote about her elsewhere. After her erasure the first is in
// no file of the store, export, later backup, log or metric; the second stays and
// is named in the certificate.
func TestErasureIsWhole(t *testing.T) {
	t.Parallel()
	onBoth(t, eraseWhole)
}

// onBoth runs a test of a whole server on SQLite, where dsn is "", and on
// PostgreSQL.
func onBoth(t *testing.T, test func(t *testing.T, dsn string)) {
	t.Helper()
	on(t, test, "sqlite", "postgres")
}

// onAny is onBoth for what the areas test on both databases already, in which
// servers share nothing: PostgreSQL is left to make test-all, as in dbtest.Any.
func onAny(t *testing.T, test func(t *testing.T, dsn string)) {
	t.Helper()
	if dbtest.Everything() {
		onBoth(t, test)
		return
	}
	on(t, test, "sqlite")
}

func on(t *testing.T, test func(t *testing.T, dsn string), databases ...string) {
	t.Helper()
	for _, database := range databases {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			var dsn string
			if database == "postgres" {
				dsn = dbtest.Migrated(t)
			}
			test(t, dsn)
		})
	}
}

func eraseWhole(t *testing.T, dsn string) {
	t.Helper()
	messages := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	t.Cleanup(messages.Close)
	log := &journal{}
	p := startProgramme(t, app.BuildTo(t, owner, log, func(c *config.Config) {
		c.Data.DatabaseURL = config.Secret(dsn)
		c.USSD.SMS = config.SMS{Provider: "webhook", WebhookURL: config.Secret(messages.URL), WebhookSecret: "0123456789abcdef0123456789abcdef"}
		c.Events.OutboundAllow = []string{strings.TrimPrefix(messages.URL, "http://")}
	}))
	c := p.register(t, customer{phone: herPhone, name: herName, email: herEmail, pin: herPIN})
	p.settleIn(t, c, herPlace)
	p.plantAnswers(t, c)
	p.plantVerdicts(t, c)
	talks := []string{p.plantTalk(t, c)}
	// As a server stored it that did not note whom a conversation knows.
	for _, query := range []string{`DELETE FROM oracle_about`, `UPDATE chat_sessions SET noted = 0`} {
		if _, err := p.DB.Exec(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	talks = append(talks, p.plantTalk(t, c))
	p.plantReasons(t, c)
	claims := p.plantClaims(t, c)
	others := p.plantElsewhere(t)
	files := []string{
		p.export(t, "/v1/exports", `{"format":"ndjson"}`),
		p.export(t, "/v1/surveys/canary.survey/exports", `{"format":"csv","pii":"full"}`),
	}
	all := canaries(c.id)
	seen := map[string]bool{}
	p.stored(t, dsn, func(name string, data []byte) {
		for what, form := range all {
			seen[what] = seen[what] || form.Match(data)
		}
	})
	for what := range all {
		if !seen[what] && what != "PIN" { // which is sealed
			t.Errorf("%s cannot be seen before the erasure: nothing would be shown", what)
		}
	}

	cert := p.erase(t, c.did)
	for _, path := range files {
		if w := p.send(t, owner, "GET", path, ""); w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "EXPORT_EXPIRED") {
			t.Errorf("GET %s = %d %s, want 404 EXPORT_EXPIRED", path, w.Code, w.Body)
		}
	}
	if left, err := p.Settle(t.Context()); left || err != nil {
		t.Fatalf("Settle() = %v, %v", left, err)
	}
	p.want(t, "GET", "/v1/erasures/"+cert.ID, "", &cert)
	if cert.Bytes.State == erase.Pending || len(cert.With) != 1 {
		t.Errorf("certificate = %+v", cert)
	}
	// A later backup is in the folder too.
	if _, err := p.DB.Backup(t.Context(), filepath.Join(p.Dir(), "later.backup")); err != nil {
		t.Fatal(err)
	}
	var left []string
	p.stored(t, dsn, func(name string, data []byte) { left = append(left, found(name, data, all)...) })
	for _, draft := range [][2]string{{"/v1/exports", `{"format":"ndjson"}`}, {"/v1/surveys/canary.survey/exports", `{"format":"csv","pii":"full"}`}} {
		path := p.export(t, draft[0], draft[1])
		left = append(left, found(path, p.send(t, owner, "GET", path, "").Body.Bytes(), all)...)
	}
	left = append(left, found("log", []byte(log.String()), all)...)
	left = append(left, found("metrics", p.send(t, owner, "GET", "/metrics", "").Body.Bytes(), all)...)
	for _, talk := range talks {
		left = append(left, found("conversation", p.talk(t, "GET", "/messages/"+talk, "").Body.Bytes(), all)...)
	}
	for _, l := range left {
		t.Error(l)
	}
	if len(log.String()) < 1000 {
		t.Error("nothing was logged")
	}
	for _, path := range claims {
		p.standsWithoutWords(t, path)
	}
	for path, n := range others {
		if w := p.send(t, owner, "GET", path, ""); strings.Count(w.Body.String(), elsewhere) != n {
			t.Errorf("GET %s = %d %s, want %q %d times: others wrote it", path, w.Code, w.Body, elsewhere, n)
		}
	}
	if !strings.Contains(strings.Join(cert.Stays, "\n"), privacy.Elsewhere) {
		t.Errorf("stays = %q, want %q", cert.Stays, privacy.Elsewhere)
	}
}

// standsWithoutWords holds a claim whose words were erased to what stays: it says so, its
// evaluation comes to the same, and the history of its twin is whole.
func (p *programme) standsWithoutWords(t *testing.T, path string) {
	t.Helper()
	for _, list := range []string{"/evaluations", "/disputes"} {
		if w := p.send(t, owner, "GET", path+list, ""); strings.Count(w.Body.String(), `"reasonErased":true`) != 1 {
			t.Errorf("GET %s = %d %s, want that it says what was erased", path+list, w.Code, w.Body)
		}
	}
	var again struct {
		Same bool `json:"same"`
	}
	if p.want(t, "POST", path+"/evaluations:recompute", "", &again); !again.Same {
		t.Errorf("%s comes to something else without the words", path)
	}
	var chain struct {
		OK bool `json:"ok"`
	}
	if p.want(t, "GET", strings.Replace(path, "/claims/", "/entities/", 1)+"/audit", "", &chain); !chain.OK {
		t.Errorf("the history of %s is not whole", path)
	}
}

// plantAnswers puts her household on a list and sends a response with personal
// answers, a file, and everything a sender and a verifier may add.
func (p *programme) plantAnswers(t *testing.T, c customer) {
	t.Helper()
	p.want(t, "POST", "/v1/templates", `{"templateId":"canary","title":"x","validations":{"completionThreshold":0.05},"sections":[{"id":"consent","questions":[{"id":"agree","type":"consent"}]},`+
		`{"id":"home","questions":[{"id":"size","type":"integer"},{"id":"name","type":"text","pii":"direct"},{"id":"words","type":"text","pii":"direct"}]}]}`, nil)
	p.want(t, "POST", "/v1/templates/canary/publish", `{}`, nil)
	p.want(t, "POST", "/v1/surveys", `{"surveyId":"canary.survey","type":"MonitoringSurvey","projectId":"did:ixo:project/one","templateId":"canary","sampling":{"method":"census"},"collectors":["did:ixo:agent/1"]}`, nil)
	p.want(t, "POST", "/v1/surveys/canary.survey/households", `{"items":[{"householdId":"`+c.household+`","area":"`+herPlace+`","location":{"lat":-1.3,"lon":38.1},"attributes":{"told":"`+herWords+`"}}]}`, nil)
	p.want(t, "POST", "/v1/surveys/canary.survey/activate", `{"reason":"as planned"}`, nil)
	picture := "a picture of " + herName
	put := httptest.NewRequest("PUT", "/v1/attachments/"+hashOf(picture), strings.NewReader(picture))
	put.Header.Set("Authorization", "Bearer "+owner)
	put.Header.Set("Content-Type", "text/plain")
	w := httptest.NewRecorder()
	if p.Handler.ServeHTTP(w, put); w.Code >= 300 {
		t.Fatalf("PUT a picture = %d %s", w.Code, w.Body)
	}
	post := httptest.NewRequest("POST", "/v1/surveys/canary.survey/responses", strings.NewReader(`{"responseId":"canary.answer","householdId":"`+c.household+`","timestamp":"2024-02-20T10:00:00Z","collector":"did:ixo:agent/1",`+
		`"deviceId":"`+herWords+`","metadata":{"note":"`+herWords+` `+herName+`"},"location":{"lat":-1.3,"lon":38.1},`+
		`"responses":{"consent":{"agree":true},"home":{"size":3,"name":"`+herName+`","words":"`+herWords+` `+herPhone+`"}},"attachments":[{"sha256":"`+hashOf(picture)+`","name":"`+herName+`.png"}]}`))
	post.Header.Set("Authorization", "Bearer "+owner)
	post.Header.Set("Content-Type", "application/json")
	post.Header.Set("Idempotency-Key", "canary-1")
	w = httptest.NewRecorder()
	if p.Handler.ServeHTTP(w, post); w.Code >= 300 {
		t.Fatalf("POST a response = %d %s", w.Code, w.Body)
	}
}

// talker is a user of the oracle.
const talker = 'q'

// plantTalk has somebody with the right to see her ask the oracle about her, and
// go on about her in words.
func (p *programme) plantTalk(t *testing.T, c customer) (session string) {
	t.Helper()
	signer, err := ucan.NewSigner("", ed25519.NewKeyFromSeed([]byte(strings.Repeat(string(rune(talker)), 32))))
	if err != nil {
		t.Fatal(err)
	}
	var org, group struct {
		DID string `json:"did"`
	}
	p.want(t, "POST", "/v1/entities", `{"type":"x","protocol":"did:ixo:protocol/organisation","properties":{"name":"x"}}`, &org)
	p.want(t, "POST", "/v1/entities/"+org.DID+"/groups", `{"name":"x","scopes":["entities:read","entities:pii"]}`, &group)
	p.want(t, "PUT", "/v1/entities/"+group.DID+"/members/"+url.PathEscape(signer.DID().String()), ``, nil)
	var made struct {
		SessionID string `json:"sessionId"`
	}
	if err := json.Unmarshal(p.talk(t, "POST", "/sessions", "").Body.Bytes(), &made); err != nil || made.SessionID == "" {
		t.Fatal(err)
	}
	asked := p.talk(t, "POST", "/messages/"+made.SessionID, `{"message":"/tool read_twin {\"did\":\"`+c.did+`\"}"}`)
	if !strings.Contains(asked.Body.String(), herName) {
		t.Fatalf("the oracle says %s, want her name", asked.Body)
	}
	p.talk(t, "POST", "/messages/"+made.SessionID, `{"message":"So `+herName+` is `+herWords+`"}`)
	return made.SessionID
}

// talk sends a request of the talker.
func (p *programme) talk(t *testing.T, method, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("X-Auth-Type", "ucan")
	r.Header.Set("Authorization", "Bearer "+token(t, p.Built, talker))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	if p.Handler.ServeHTTP(w, r); w.Code >= 300 {
		t.Fatalf("%s %s = %d %s", method, path, w.Code, w.Body)
	}
	return w
}

// export makes an export and gives the path of its file.
func (p *programme) export(t *testing.T, path, draft string) string {
	t.Helper()
	var e struct {
		ID string `json:"id"`
	}
	p.want(t, "POST", path, draft, &e)
	file := path + "/" + e.ID + "/file"
	p.until(t, "the export is there", func() bool { return p.send(t, owner, "GET", file, "").Code == http.StatusOK })
	return file
}
