package matrix

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/oracle/llm/modeltest"
	"github.com/hearth-dmrv/hearth/test/server"
)

func TestMain(m *testing.M) { os.Exit(server.Main(m)) }

// text is what is in the file.
const text = "The stove is in Kisumu."

// oracle is a server of ours whose model repeats what it is told.
type oracle struct {
	t *testing.T
	s *server.Server
}

// question is one message: who sends it, and what is attached.
type question struct {
	home, token, room string
	uri, event        string
}

// ask gives what the model was told about the file.
func (o oracle) ask(t *testing.T, q question) string {
	t.Helper()
	var made struct {
		ID string `json:"sessionId"`
	}
	o.call(t, "/sessions", "", nil, &made)
	file := map[string]string{"filename": "notes.txt", "mimetype": "text/plain"}
	if q.uri != "" {
		file["mxcUri"] = q.uri
	} else {
		file["eventId"] = q.event
	}
	body, err := json.Marshal(map[string]any{
		"message": "What is in it?", "attachments": []any{file}, "homeServer": q.home, "metadata": map[string]string{"roomId": q.room},
	})
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Message struct {
			Content string `json:"content"`
		} `json:"message"`
	}
	o.call(t, "/messages/"+made.ID, q.token, body, &answer)
	return answer.Message.Content
}

func (o oracle) call(t *testing.T, path, token string, body []byte, out any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", o.s.URL+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-API-Key", o.s.Key)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Matrix-Access-Token", token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode < 300 {
		err = json.Unmarshal(raw, out)
	}
	if err != nil || res.StatusCode >= 300 {
		t.Fatalf("POST %s: %d %s, %v", path, res.StatusCode, raw, err)
	}
}

// echo is a model that says what the last message holds.
func echo(r modeltest.Request) modeltest.Script {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if r.Messages[i].Role == "user" {
			return modeltest.Say(string(r.Messages[i].Content))
		}
	}
	return modeltest.Say("nothing")
}

// TestAttachments: what a user of a homeserver may read there is given to the model, and
// nothing else; the rest is named with the reason.
func TestAttachments(t *testing.T) {
	h := start(t)
	model := modeltest.Play(echo)
	t.Cleanup(model.Close)
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	o := oracle{t, server.Run(t, server.Options{Log: log, Env: []string{
		"LLM_BASE_URL=" + model.URL, "MATRIX_HOMESERVERS=" + h.url, "LOG_LEVEL=debug", "THROTTLE_LIMIT=0", "ORACLE_RUNS_PER_CALLER=100",
	}})}
	amina, juma := h.register("amina"), h.register("juma")
	notes := amina.upload("text/plain", []byte(text))
	shared, other, hidden := amina.room(), amina.room(), juma.room()
	holds := func(uri string) string { return fmt.Sprintf(`{"msgtype":"m.file","body":"notes.txt","url":%q}`, uri) }
	file := amina.send(shared, "m.room.message", holds(notes))
	gone := amina.upload("text/plain", []byte("It will be deleted."))
	h.remove("It will be deleted.")
	noise := make([]byte, 4096)
	_, _ = rand.Read(noise) // it never fails
	const notShown = "does not have it, or does not show it to this user"

	for name, tt := range map[string]struct {
		question
		want string
	}{
		"a file":                   {question{h.url, amina.token, "", notes, ""}, text},
		"of another user":          {question{h.url, juma.token, "", notes, ""}, text}, // whoever knows an address may read it
		"by its host":              {question{strings.TrimPrefix(h.url, "http://"), amina.token, shared, "", file}, text},
		"an event":                 {question{h.url, amina.token, shared, "", file}, text},
		"wrong token":              {question{h.url, "wrong", "", notes, ""}, "does not accept the access token"},
		"wrong token for an event": {question{h.url, "wrong", shared, "", file}, "does not accept the access token"},
		"no token":                 {question{h.url, "", "", notes, ""}, "without an access token"},
		"another homeserver":       {question{"https://matrix.example.org", amina.token, "", notes, ""}, "not on the list of allowed ones"},
		"no homeserver":            {question{"", amina.token, "", notes, ""}, "names no homeserver"},
		"redirected inside":        {question{h.url, amina.token, "", "mxc://home.test/redirects", ""}, "its server cannot be reached"},
		"hangs":                    {question{h.url, amina.token, "", "mxc://home.test/hangs", ""}, "it took too long"},
		"too large":                {question{h.url, amina.token, "", amina.upload("text/plain", bytes.Repeat([]byte("x"), 25<<20+1)), ""}, "larger than 25 MB"},
		"encrypted file":           {question{h.url, amina.token, shared, "", amina.send(shared, "m.room.message", `{"msgtype":"m.file","body":"a","file":{"url":"`+notes+`"}}`)}, "encrypted from end to end"},
		"encrypted event":          {question{h.url, amina.token, shared, "", amina.send(shared, "m.room.encrypted", `{"algorithm":"m.megolm.v1.aes-sha2","ciphertext":"x"}`)}, "encrypted from end to end"},
		"encrypted bytes":          {question{h.url, amina.token, "", amina.upload("application/octet-stream", noise), ""}, "it is encrypted, or it is not text"},
		"a picture called text":    {question{h.url, amina.token, "", amina.upload("image/png", []byte("\x89PNG\r\n\x1a\n")), ""}, "it is not text"},
		"only words":               {question{h.url, amina.token, shared, "", amina.send(shared, "m.room.message", `{"msgtype":"m.text","body":"hi"}`)}, "holds no file"},
		"event of another room":    {question{h.url, amina.token, shared, "", amina.send(other, "m.room.message", holds(notes))}, "of another room"},
		"room of somebody else":    {question{h.url, amina.token, hidden, "", juma.send(hidden, "m.room.message", holds(notes))}, notShown},
		"no such event":            {question{h.url, amina.token, shared, "", "$none"}, notShown},
		"deleted":                  {question{h.url, amina.token, "", gone, ""}, notShown},
		"never there":              {question{h.url, amina.token, "", "mxc://home.test/never", ""}, notShown},
		"of a server not reached":  {question{h.url, amina.token, "", "mxc://127.0.0.1:1/a", ""}, "could not be read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := o.ask(t, tt.question); !strings.Contains(got, tt.want) || strings.Contains(got, text) != (tt.want == text) {
				t.Errorf("the model was told %.600q, want %q", got, tt.want)
			}
		})
	}
	t.Cleanup(func() { // after all of them
		if n := h.inside.Load(); n != 0 {
			t.Errorf("the server inside got %d requests", n)
		}
		raw, err := os.ReadFile(log.Name())
		if err != nil || len(raw) == 0 || bytes.Contains(raw, []byte(amina.token)) {
			t.Errorf("the log holds a token, or nothing: %d bytes, %v", len(raw), err)
		}
	})
}

// remove deletes a file by what is in it, as an operator does who removes media.
func (h *homeserver) remove(content string) {
	h.t.Helper()
	found := false
	err := filepath.WalkDir(filepath.Join(h.dir, "media"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if err == nil && string(raw) == content {
			found, err = true, os.Remove(path)
		}
		return err
	})
	if err != nil || !found {
		h.t.Fatalf("the file is not in the store of the homeserver: %v", err)
	}
}
