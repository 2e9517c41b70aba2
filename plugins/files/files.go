// Package files is the plugin files: the model reads further in files that users
// have attached to the conversation, and makes files that they can download.
//
// A generated file belongs to the user it was made for: nobody else finds it, and
// it is removed after some days or with an erasure. It is sent as a download, never
// shown as one of our pages, and no cell of its tables is run as a formula.
package files

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/plugin"
)

// Limits of the plugin.
const (
	maxName = 100      // characters of a name
	maxMade = 50       // files of a user
	maxText = 60 << 10 // bytes of a file
	textOf  = "text-"  // before an id: the content of the file
)

// types are the media types of the files that can be made, by the ends of their
// names. What browsers run is not among them.
var types = map[string]string{".txt": "text/plain", ".md": "text/markdown", ".csv": "text/csv", ".json": "application/json"}

// Plugin is the plugin files.
type Plugin struct {
	store    plugin.Store
	attached func(ctx context.Context) ([]plugin.Attachment, error)
	life     time.Duration
	now      func() time.Time
}

var (
	_ plugin.Settings = (*Plugin)(nil)
	_ plugin.Starts   = (*Plugin)(nil)
	_ plugin.Tools    = (*Plugin)(nil)
	_ plugin.Routes   = (*Plugin)(nil)
)

// New makes the plugin.
func New() *Plugin { return &Plugin{now: time.Now} }

// Manifest describes the plugin.
func (p *Plugin) Manifest() plugin.Manifest {
	return plugin.Manifest{
		Name: "files", Version: "1.0.0", Title: "Files", Summary: "Reads files of the conversation, and makes files to download.",
		WhenToUse:    []string{"The user asks about a file they attached earlier, or about a later part of one.", "The user wants a table or a text as a file."},
		WhenNotToUse: []string{"A file whose text is in the conversation already."},
		Examples:     []plugin.Example{{User: "Give me that as a CSV", Tool: "make_file", Args: `{"name":"stoves.csv","text":"stove,kWh\n12,3.5\n"}`}},
		Tags:         []string{"files"},
	}
}

// Settings are what an operator decides.
func (p *Plugin) Settings() []plugin.Setting {
	return []plugin.Setting{{Name: "keepFor", Kind: plugin.Duration, Default: "168h", Doc: "How long a file that the oracle made can be downloaded."}}
}

// Start keeps the host's store.
func (p *Plugin) Start(_ context.Context, host plugin.Host) error {
	p.store, p.attached, p.life = host.Store, host.Attachments, host.Settings.Duration("keepFor")
	if p.life < time.Minute {
		return errors.New("keepFor: want a minute or more")
	}
	return nil
}

// Tools are the tools of the model.
func (p *Plugin) Tools() []plugin.Tool {
	return []plugin.Tool{
		{
			Name: "list_files", Run: p.list, ReadOnly: true, Output: listSchema,
			Description: "List the files that the user has attached to this conversation, newest first, and those that you have made for the user.",
		},
		{
			Name: "read_file", Run: p.read, ReadOnly: true, Session: true, Output: partSchema,
			Description: "Read text out of a file that the user has attached to this conversation, from a line on. Tables are CSV.",
			Schema: `{"type":"object","additionalProperties":false,"required":["name"],"properties":{"name":{"type":"string","maxLength":255,"description":"As list_files gives it; the newest of that name is read."},` +
				`"line":{"type":"integer","minimum":1,"description":"The first line to read; 1 without."},"lines":{"type":"integer","minimum":1,"maximum":1000,"description":"How many; 200 without."}}}`,
		},
		{
			Name: "make_file", Run: p.makeFile,
			Description: "Make a file for the user to download: .txt, .md, .csv or .json. Give the user its url. Only when the user wants a file.",
			Schema:      `{"type":"object","additionalProperties":false,"required":["name","text"],"properties":{"name":{"type":"string","minLength":5,"maxLength":100,"description":"Such as stoves.csv."},"text":{"type":"string","minLength":1,"maxLength":61440}}}`,
		},
	}
}

// Routes are the routes for programs.
func (p *Plugin) Routes() []plugin.Route {
	return []plugin.Route{
		{
			Method: "GET", Path: "/files", Personal: true, Summary: "List the files that the oracle has made for you", Answer: api.Page[api.MadeFile]{},
			Description: "Newest first. There is one page: a user has at most 50.",
			Serve: func(r *plugin.Request) (any, error) {
				found, err := p.made(r.Context())
				return api.Page[api.MadeFile]{Items: found, Page: api.PageInfo{Limit: maxMade}}, err
			},
		},
		{
			Method: "GET", Path: "/files/{fileId}", Personal: true, Summary: "Download a file that the oracle has made for you",
			Description: "The answer is the file.", Serve: p.serve,
		},
		{
			Method: "DELETE", Path: "/files/{fileId}", Personal: true, Summary: "Remove a file that the oracle has made for you", Answer: map[string]bool{},
			Serve: func(r *plugin.Request) (any, error) {
				shelf, f, err := p.find(r.Context(), r.PathValue("fileId"))
				if err != nil {
					return nil, err
				}
				return map[string]bool{"ok": true}, errors.Join(shelf.Delete(r.Context(), textOf+f.ID), shelf.Delete(r.Context(), f.ID))
			},
		},
	}
}

// made are the files that were made for the user of ctx, newest first.
func (p *Plugin) made(ctx context.Context) ([]api.MadeFile, error) {
	out := []api.MadeFile{}
	shelf, err := p.store.User(ctx)
	if err != nil {
		return out, err
	}
	entries, err := shelf.Entries(ctx, "", maxMade)
	for _, e := range entries {
		if strings.HasPrefix(e.Name, textOf) {
			break // they come behind all that is known of files
		}
		var f api.MadeFile
		if err := json.Unmarshal(e.Value, &f); err != nil {
			return out, err
		}
		out = append(out, f)
	}
	return out, err
}

var idPattern = regexp.MustCompile(`^[0-9a-f]{20}$`)

// find finds a file of the user of ctx. A missing file and somebody else's look
// alike.
func (p *Plugin) find(ctx context.Context, id string) (plugin.Shelf, *api.MadeFile, error) {
	missing := &plugin.Error{Status: http.StatusNotFound, Message: "File not found"}
	if !idPattern.MatchString(id) {
		return nil, nil, missing
	}
	shelf, err := p.store.User(ctx)
	if err != nil {
		return nil, nil, err
	}
	raw, err := shelf.Get(ctx, id)
	switch {
	case err != nil:
		return nil, nil, err
	case raw == nil:
		return nil, nil, missing
	}
	f := &api.MadeFile{}
	return shelf, f, json.Unmarshal(raw, f)
}

// serve answers GET /files/{fileId}.
func (p *Plugin) serve(r *plugin.Request) (any, error) {
	shelf, f, err := p.find(r.Context(), r.PathValue("fileId"))
	if err != nil {
		return nil, err
	}
	text, err := shelf.Get(r.Context(), textOf+f.ID)
	if err == nil && text == nil {
		err = &plugin.Error{Status: http.StatusNotFound, Message: "File not found"}
	}
	return plugin.Reply{Type: f.MediaType, Content: text, Filename: f.Name}, err
}

// makeFile answers make_file.
func (p *Plugin) makeFile(ctx context.Context, call plugin.Call) (any, error) {
	var in struct {
		Name string `json:"name"`
		Text string `json:"text"`
	}
	if err := call.Read(&in); err != nil {
		return nil, err
	}
	kind, err := check(in.Name, in.Text)
	if err != nil {
		return nil, err
	}
	if kind == types[".csv"] {
		if in.Text, err = harmless(in.Text); err != nil {
			return nil, err
		}
	}
	there, err := p.made(ctx)
	switch {
	case err != nil:
		return nil, err
	case len(there) >= maxMade:
		return nil, plugin.Invalid("There are %d files already, which is the most. The user can remove some with DELETE /files/{fileId}.", maxMade)
	case len(in.Text) > maxText:
		return nil, plugin.Invalid("text: a file has at most %d bytes", maxText)
	}
	at := p.now().UTC().Truncate(time.Second)
	f := api.MadeFile{ID: newID(at), Name: in.Name, MediaType: kind + "; charset=utf-8", Bytes: len(in.Text), CreatedAt: at, ExpiresAt: at.Add(p.life)}
	f.URL = "/files/" + f.ID
	return f, p.keep(ctx, f, in.Text)
}

// keep stores a file, its content first.
func (p *Plugin) keep(ctx context.Context, f api.MadeFile, text string) error {
	shelf, err := p.store.User(ctx)
	if err != nil {
		return err
	}
	if err := shelf.PutUntil(ctx, textOf+f.ID, []byte(text), f.ExpiresAt); err != nil {
		return err
	}
	about, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return shelf.PutUntil(ctx, f.ID, about, f.ExpiresAt)
}

// check says what is wrong with a file to be made, and returns its type.
func check(name, text string) (kind string, err error) {
	kind = types[strings.ToLower(path.Ext(name))]
	switch {
	case kind == "":
		return "", plugin.Invalid("name: want a name that ends in .txt, .md, .csv or .json")
	case utf8.RuneCountInString(name) > maxName || strings.HasPrefix(name, ".") || strings.ContainsAny(name, `/\:*?"<>|`) || strings.ContainsFunc(name, unicode.IsControl) || !utf8.ValidString(name):
		return "", plugin.Invalid("name: want at most %d characters without / \\ : * ? \" < > | and control characters, and no dot at the beginning", maxName)
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return "", plugin.Invalid("text: want text in UTF-8")
	case kind == types[".json"] && !json.Valid([]byte(text)):
		return "", plugin.Invalid("text: it is not valid JSON")
	}
	return kind, nil
}

// newID makes an id that sorts before those of older files.
func newID(at time.Time) string {
	const end = 1<<48 - 1
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return fmt.Sprintf("%012x%s", end-at.UnixMilli(), hex.EncodeToString(b[:]))
}
