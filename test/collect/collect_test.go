package collect

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/openrosa/openrosatest"
	"github.com/hearth-dmrv/hearth/test/browser"
	"github.com/hearth-dmrv/hearth/test/server"
)

func TestMain(m *testing.M) { os.Exit(server.Main(m, browser.Close)) }

const (
	stoves = `{"templateId":"stoves","title":"Stoves","sections":[{"id":"s","questions":[{"id":"ok","type":"consent"},
		{"id":"size","type":"integer","required":true},{"id":"a","type":"photo","required":true},{"id":"b","type":"photo","required":true},{"id":"c","type":"photo","required":true}]}]}`
	photos  = 3
	drops   = 15 // percent of posts that are cut, and of answers that are lost
	phones  = 8
	crashes = 4
)

// field is a server that crashes and comes back, and what phones know of it.
type field struct {
	t       *testing.T
	options server.Options
	now     atomic.Pointer[server.Server]
	secret  string
	doc     form.Template
	posts   atomic.Int64
}

func (f *field) owner() *server.Client { return f.now.Load().Client(2) }

// must calls the API and reads the answer.
func (f *field) must(method, path string, body, out any) {
	f.t.Helper()
	a, err := f.owner().Do(f.t.Context(), method, path, body)
	if err == nil && a.Status >= 300 {
		err = fmt.Errorf("%d %s", a.Status, a.Body)
	}
	if err == nil && out != nil {
		err = a.JSON(out)
	}
	if err != nil {
		f.t.Fatalf("%s %s: %v", method, path, err)
	}
}

// TestField has phones send interviews with three photos each, over a link that
// drops, to a server that is killed meanwhile: none is lost, none is doubled and
// none is there in part.
func TestField(t *testing.T) {
	t.Parallel()
	count := 60
	if dbtest.Everything() {
		count = 1000
	}
	f := &field{t: t, options: server.Options{Binary: server.Binary(t), Dir: t.TempDir()}}
	f.start()
	t.Cleanup(func() { _ = f.now.Load().Kill() })
	f.prepare()
	var wg sync.WaitGroup
	var done atomic.Int64
	next := make(chan int)
	for range phones {
		wg.Go(func() {
			for i := range next {
				f.interview(i)
				done.Add(1)
			}
		})
	}
	wg.Go(func() { f.crash(&done, int64(count)) })
	for i := range count {
		next <- i
	}
	close(next)
	wg.Wait()
	f.check(count)
	t.Logf("%d interviews in %d posts", count, f.posts.Load())
}

// start starts the server, or starts it again.
func (f *field) start() {
	f.t.Helper()
	s, err := server.Start(f.options)
	if err != nil {
		f.t.Error(err)
		return
	}
	f.now.Store(s)
}

// prepare makes a survey, and an address for its collector.
func (f *field) prepare() {
	f.t.Helper()
	f.must("POST", "/v1/templates", []byte(stoves), &f.doc)
	f.must("POST", "/v1/templates/stoves/publish", []byte(`{}`), nil)
	var address struct {
		URL       string `json:"url"`
		Collector string `json:"collector"`
	}
	f.must("POST", "/v1/collect/addresses", []byte(`{"name":"Phones","origin":"http://phones.example"}`), &address)
	f.secret = address.URL[strings.LastIndexByte(address.URL, '/')+1:]
	f.must("POST", "/v1/surveys", []byte(`{"surveyId":"field","type":"BaselineSurvey","projectId":"did:ixo:project/1","templateId":"stoves","sampling":{"method":"census"},"collectors":["`+address.Collector+`"]}`), nil)
	f.must("POST", "/v1/surveys/field/activate", []byte(`{}`), nil)
	res, err := http.Get(f.now.Load().URL + "/v1/openrosa/" + f.secret + "/formList")
	if err != nil {
		f.t.Fatal(err)
	}
	defer res.Body.Close()
	if list, _ := io.ReadAll(res.Body); !strings.Contains(string(list), "<formID>field</formID>") {
		f.t.Fatalf("formList = %d %s", res.StatusCode, list)
	}
}

// crash kills the server a few times while phones send.
func (f *field) crash(done *atomic.Int64, count int64) {
	for i := range int64(crashes) {
		for done.Load() < count*(i+1)/(crashes+2) {
			if f.t.Context().Err() != nil {
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
		if err := f.now.Load().Kill(); err != nil {
			f.t.Errorf("kill: %v", err)
		}
		f.start()
	}
}

// photo is a picture of an interview, small and like no other.
func photo(i, n int) []byte {
	return append([]byte("\xff\xd8\xff\xe0"), bytes.Repeat(fmt.Appendf(nil, "interview %d photo %d ", i, n), 40)...)
}

// interview sends one until it is acknowledged, as Collect does: all of it again
// after anything that went wrong.
func (f *field) interview(i int) {
	answers := jsontext.Value(fmt.Sprintf(`{"s":{"ok":true,"size":%d,"a":"0.jpg","b":"1.jpg","c":"2.jpg"}}`, i%20+1))
	raw := openrosatest.Instance(&f.doc, answers, openrosatest.Submission{
		FormID: "field", Version: "1", InstanceID: fmt.Sprintf("uuid:%d", i), Household: fmt.Sprintf("did:ixo:household/%d", i), Device: "collect:1",
		Start: "2026-02-20T10:00:00.000+03:00", End: "2026-02-20T10:30:00.000+03:00",
	})
	r := rand.New(rand.NewPCG(24, uint64(i)))
	for f.t.Context().Err() == nil {
		if f.all(r, i, raw) {
			return
		}
		time.Sleep(time.Duration(10+r.IntN(40)) * time.Millisecond)
	}
}

// all sends the posts of an interview. It reports whether the server has it.
func (f *field) all(r *rand.Rand, i int, raw []byte) bool {
	order := r.Perm(photos)
	for sent := 0; sent < photos; {
		n := min(1+r.IntN(photos), photos-sent)
		status, err := f.post(r, i, raw, order[sent:sent+n])
		sent += n
		if err != nil || status != http.StatusCreated && status != http.StatusAccepted {
			if status >= 400 && status < 500 && status != http.StatusTooManyRequests {
				f.t.Errorf("interview %d: status %d", i, status)
				return true
			}
			return false
		}
		if sent == photos && status != http.StatusCreated {
			f.t.Errorf("interview %d: %d after the last photo, want 201", i, status)
			return true
		}
	}
	return true
}

// errDropped is the end of a link.
var errDropped = errors.New("the link has dropped")

// cutting ends a body early.
type cutting struct {
	io.Reader
	left int
}

func (c *cutting) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, errDropped
	}
	n, err := c.Reader.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}

// post sends some photos of an interview.
func (f *field) post(r *rand.Rand, i int, raw []byte, which []int) (int, error) {
	f.posts.Add(1)
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	part, err := m.CreateFormFile("xml_submission_file", "submission.xml")
	if err != nil {
		return 0, err
	}
	_, _ = part.Write(raw)
	for _, n := range which {
		name := fmt.Sprintf("%d.jpg", n)
		if part, err = m.CreateFormFile(name, name); err != nil {
			return 0, err
		}
		_, _ = part.Write(photo(i, n))
	}
	_ = m.Close()
	body := io.Reader(&b)
	size := int64(b.Len())
	if r.IntN(100) < drops {
		body = &cutting{&b, r.IntN(b.Len())}
	}
	ctx, cancel := context.WithTimeout(f.t.Context(), 60*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.now.Load().URL+"/v1/openrosa/"+f.secret+"/submission", body)
	if err != nil {
		return 0, err
	}
	req.ContentLength = size
	req.Header.Set("Content-Type", m.FormDataContentType())
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	if r.IntN(100) < drops { // it came, and nobody hears of it
		return 0, errDropped
	}
	_, err = io.Copy(io.Discard, res.Body)
	return res.StatusCode, err
}

// check compares what is stored with what was asked.
func (f *field) check(count int) {
	f.t.Helper()
	seen := map[string]int{}
	for path := "/v1/surveys/field/responses?limit=100"; path != ""; {
		var page struct {
			Items []struct {
				ResponseID         string                               `json:"responseId"`
				Status             string                               `json:"status"`
				MissingAttachments []string                             `json:"missingAttachments"`
				Responses          map[string]map[string]jsontext.Value `json:"responses"`
			} `json:"items"`
			Page struct {
				NextCursor string `json:"nextCursor"`
			} `json:"page"`
		}
		f.must("GET", path, nil, &page)
		for _, one := range page.Items {
			seen[one.ResponseID]++
			i := 0
			if _, err := fmt.Sscanf(one.ResponseID, "uuid:%d", &i); err != nil || one.Status != "complete" || len(one.MissingAttachments) > 0 {
				f.t.Errorf("%s is %s, and misses %v", one.ResponseID, one.Status, one.MissingAttachments)
			}
			for n, id := range []string{"a", "b", "c"} {
				sum := sha256.Sum256(photo(i, n))
				if want := `"sha256:` + hex.EncodeToString(sum[:]) + `"`; string(one.Responses["s"][id]) != want {
					f.t.Errorf("photo %s of %s = %s, want %s", id, one.ResponseID, one.Responses["s"][id], want)
				}
			}
		}
		if path = ""; page.Page.NextCursor != "" {
			path = "/v1/surveys/field/responses?limit=100&cursor=" + page.Page.NextCursor
		}
	}
	for i := range count {
		if n := seen[fmt.Sprintf("uuid:%d", i)]; n != 1 {
			f.t.Errorf("interview %d is stored %d times", i, n)
		}
	}
	if len(seen) != count {
		f.t.Errorf("%d responses, want %d", len(seen), count)
	}
	var clashes struct {
		Items []any `json:"items"`
	}
	if f.must("GET", "/v1/surveys/field/conflicts", nil, &clashes); len(clashes.Items) > 0 {
		f.t.Errorf("%d conflicts, want none", len(clashes.Items))
	}
}
