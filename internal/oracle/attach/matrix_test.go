package attach_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/oracle/attach"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

const (
	token = "syt_canary"
	room  = "!room:home.test"
)

// events are what the fake homeserver has in its room.
var events = map[string]string{
	"$file":      `{"room_id":"` + room + `","type":"m.room.message","content":{"msgtype":"m.file","url":"mxc://home.test/notes"}}`,
	"$elsewhere": `{"room_id":"!other:home.test","type":"m.room.message","content":{"msgtype":"m.file","url":"mxc://home.test/notes"}}`,
	"$sealed":    `{"room_id":"` + room + `","type":"m.room.message","content":{"msgtype":"m.file","file":{"url":"mxc://home.test/notes","key":{}}}}`,
	"$cipher":    `{"room_id":"` + room + `","type":"m.room.encrypted","content":{"algorithm":"m.megolm.v1.aes-sha2"}}`,
	"$words":     `{"room_id":"` + room + `","type":"m.room.message","content":{"msgtype":"m.text","body":"hi"}}`,
	"$redacted":  `{"room_id":"` + room + `","type":"m.room.message","content":{}}`,
	"$state":     `{"room_id":"` + room + `","type":"m.room.avatar","content":{"url":"mxc://home.test/notes"}}`,
	"$odd":       `{"room_id":"` + room + `","type":"m.room.message","content":{"url":7}}`,
	"$inside":    `{"room_id":"` + room + `","type":"m.room.message","content":{"url":"http://127.0.0.1/"}}`,
	"$a/../b":    `{"room_id":"` + room + `","type":"m.room.message","content":{"url":"mxc://home.test/notes"}}`,
}

// homeserver answers as a homeserver does, as far as attachments ask one.
func homeserver(inside string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /_matrix/client/v3/rooms/{room}/event/{event}", func(w http.ResponseWriter, r *http.Request) {
		e, ok := events[r.PathValue("event")]
		if !ok || r.PathValue("room") != room {
			http.Error(w, `{"errcode":"M_NOT_FOUND"}`, http.StatusNotFound)
			return
		}
		says("application/json", e)(w, r)
	})
	mux.HandleFunc("GET /_matrix/client/v1/media/download/{server}/{id}", func(w http.ResponseWriter, r *http.Request) {
		switch r.PathValue("server") + "/" + r.PathValue("id") {
		case "home.test/notes", "[::1]:8448/notes":
			says("text/plain", "The stove is in Kisumu.")(w, r)
		case "home.test/sealed":
			says("application/octet-stream", "\x9c\xe1\x80\xffq\x91")(w, r)
		case "home.test/bytes":
			says("application/octet-stream", "a,b\n")(w, r)
		case "home.test/forbidden":
			w.WriteHeader(http.StatusForbidden)
		case "home.test/busy":
			w.WriteHeader(http.StatusTooManyRequests)
		case "home.test/broken":
			w.WriteHeader(http.StatusBadGateway)
		case "home.test/inside":
			http.Redirect(w, r, inside, http.StatusTemporaryRedirect)
		case "home.test/large":
			w.Header().Set("Content-Length", fmt.Sprint(attach.MaxFile+1))
		case "home.test/hangs":
			<-r.Context().Done()
		default:
			http.Error(w, `{"errcode":"M_NOT_FOUND"}`, http.StatusNotFound)
		}
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+token {
			http.Error(w, `{"errcode":"M_UNKNOWN_TOKEN"}`, http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// home is the reader of a server with one homeserver listed, and how senders name that.
func home(t *testing.T, f *far, c attach.Config) *attach.Reader {
	t.Helper()
	base := strings.TrimSuffix(f.url(""), "/")
	c.Homes = []attach.Home{{Base: base, Client: f.guarded(t)}}
	return f.reader(t, c)
}

func TestHomeserver(t *testing.T) {
	t.Parallel()
	inside := serve(t, says("text/plain", "secret"))
	f := serve(t, homeserver("http://127.0.0.1:"+inside.port+"/").ServeHTTP)
	const (
		text   = "The stove is in Kisumu."
		gone   = "does not have it, or does not show it to this user"
		sealed = "it is encrypted from end to end"
	)
	host := strings.TrimPrefix(f.url(""), "http://")
	for _, tt := range []struct {
		name, home, token, room, uri, event string
		text, note                          string
	}{
		{"by its address", f.url("/"), token, "", "mxc://home.test/notes", "", text, ""},
		{"by its host", strings.ToUpper(host), token, "", "mxc://home.test/notes", "", text, ""},
		{"of another server", host, token, "", "mxc://[::1]:8448/notes", "", text, ""},
		{"by its event", host, token, room, "", "$file", text, ""},
		{"event with marks of paths", host, token, room, "", "$a/../b", text, ""},
		{"bytes that are text", host, token, "", "mxc://home.test/bytes", "", "a,b\n", ""},
		{"no homeserver", "", token, room, "", "$file", "", "names no homeserver"},
		{"another homeserver", "https://" + host, token, room, "", "$file", "", "not on the list of allowed ones"},
		{"another port", "files.test:1", token, room, "", "$file", "", "not on the list of allowed ones"},
		{"a path", f.url("/x"), token, room, "", "$file", "", "not on the list of allowed ones"},
		{"a user", "http://u@" + host, token, room, "", "$file", "", "not on the list of allowed ones"},
		{"no address", "http://%zz", token, room, "", "$file", "", "not on the list of allowed ones"},
		{"no token", host, "", room, "", "$file", "", "without an access token"},
		{"wrong token", host, "wrong", room, "", "$file", "", "does not accept the access token"},
		{"wrong token for a file", host, "wrong", "", "mxc://home.test/notes", "", "", "does not accept the access token"},
		{"no room", host, token, "", "", "$file", "", "does not say in which room"},
		{"an alias", host, token, "#room:home.test", "", "$file", "", "does not say in which room"},
		{"a room not seen", host, token, "!secret:home.test", "", "$file", "", gone},
		{"no such event", host, token, room, "", "$none", "", gone},
		{"event of another room", host, token, room, "", "$elsewhere", "", "of another room"},
		{"encrypted file", host, token, room, "", "$sealed", "", sealed},
		{"encrypted event", host, token, room, "", "$cipher", "", sealed},
		{"encrypted bytes", host, token, "", "mxc://home.test/sealed", "", "", "it is encrypted, or it is not text"},
		{"words", host, token, room, "", "$words", "", "holds no file"},
		{"redacted", host, token, room, "", "$redacted", "", "holds no file"},
		{"an event of state", host, token, room, "", "$state", "", "holds no file"},
		{"an event that is none", host, token, room, "", "$odd", "", "holds no file"},
		{"an event that leads elsewhere", host, token, room, "", "$inside", "", "not that of a file"},
		{"deleted", host, token, "", "mxc://home.test/gone", "", "", gone},
		{"dots", host, token, "", "mxc://../notes", "", "", "not that of a file"},
		{"a path in the id", host, token, "", "mxc://home.test/../../x", "", "", "not that of a file"},
		{"a question", host, token, "", "mxc://home.test/notes?x", "", "", "not that of a file"},
		{"forbidden", host, token, "", "mxc://home.test/forbidden", "", "", "does not let this user read it"},
		{"busy", host, token, "", "mxc://home.test/busy", "", "", "asked too often"},
		{"broken", host, token, "", "mxc://home.test/broken", "", "", "its homeserver answers 502"},
		{"redirect inside", host, token, "", "mxc://home.test/inside", "", "", "its server cannot be reached"},
		{"large", host, token, "", "mxc://home.test/large", "", "", "larger than 25 MB"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			r := home(t, f, attach.Config{Log: slog.New(slog.NewTextHandler(&log, nil))})
			in := []llm.Attachment{{Filename: "a.txt", MIMEType: "text/plain", MXCURI: tt.uri, EventID: tt.event}}
			got := r.Read(t.Context(), in, attach.Sender{Homeserver: tt.home, Token: tool.NewToken(tt.token), Room: tt.room})[0]
			if got.Text != tt.text || !strings.Contains(got.Note, tt.note) || (tt.note == "") != (got.Note == "") {
				t.Errorf("got %q with note %q, want %q with %q", got.Text, got.Note, tt.text, tt.note)
			}
			if strings.Contains(log.String()+got.Note, "canary") {
				t.Error("the token is in the log or in the note")
			}
		})
	}
	t.Cleanup(func() {
		if n := inside.hits.Load(); n != 0 {
			t.Errorf("the server inside got %d requests", n)
		}
	})
}

// TestHomeserverHangs: it costs the time of all files, and no more.
func TestHomeserverHangs(t *testing.T) {
	t.Parallel()
	f := serve(t, homeserver("").ServeHTTP)
	r := home(t, f, attach.Config{MaxTime: 100 * time.Millisecond})
	got := r.Read(t.Context(), []llm.Attachment{{Filename: "a.txt", MIMEType: "text/plain", MXCURI: "mxc://home.test/hangs"}},
		attach.Sender{Homeserver: f.url(""), Token: tool.NewToken(token)})[0]
	if got.Text != "" || !strings.Contains(got.Note, "took too long") {
		t.Errorf("got %q with note %q", got.Text, got.Note)
	}
}

// TestTokenStaysHome: a homeserver that sends readers on to another server sends the
// token nowhere.
func TestTokenStaysHome(t *testing.T) {
	t.Parallel()
	store := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "token "+r.Header.Get("Authorization"))
	})
	f := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, store.url("/a"), http.StatusTemporaryRedirect)
	})
	c := attach.Config{Homes: []attach.Home{{Base: f.url(""), Client: f.guarded(t, "files.test:"+store.port)}}}
	got := f.reader(t, c).Read(t.Context(), []llm.Attachment{{Filename: "a.txt", MIMEType: "text/plain", MXCURI: "mxc://home.test/a"}},
		attach.Sender{Homeserver: f.url(""), Token: tool.NewToken(token)})[0]
	if got.Text != "token " || got.Note != "" {
		t.Errorf("got %q with note %q", got.Text, got.Note)
	}
}
