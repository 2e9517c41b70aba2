// Package console is the web console: the pages people look at instead of reading
// JSON, and the sessions of the browsers that show them.
//
// The pages are plain ES modules, served as they are in ui/. There is no build:
// what is reviewed is what is served. They call the same routes as every other
// client, with the rights of the key the session was opened with.
//
// Overview answers questions about the whole programme at once: what a DID of any
// kind is called, what begins with a text, what happened to a twin, and how much of
// everything there is. Apart from the counters it has no data, and it has no rules
// about rights: each area says what the caller may know, in a few indexed queries,
// and this package puts the answers together.
package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"mime"
	"net/url"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hearth-dmrv/hearth/internal/auth"
)

//go:embed ui
var embedded embed.FS

// Config configures a Service.
type Config struct {
	Sessions auth.Sessions
	Invites  auth.Invites
	Dir      string   // serve the pages from this folder, as they are at each request; "" serves the embedded ones
	Areas    []string // what this server serves
	Version  string
	Tiles    Tiles
}

// Tiles are the background pictures of maps.
type Tiles struct {
	URL    string `json:"url" doc:"Address of one, with {z}, {x} and {y} for its zoom, column and row."`
	Credit string `json:"credit" doc:"Their source."`
}

// origin is the server that has them, "" without.
func (t Tiles) origin() string {
	u, err := url.Parse(t.URL)
	if err != nil || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// Service serves the console.
type Service struct {
	cfg    Config
	policy string // of the pages
	files  func() (*files, error)
}

// New makes a Service.
func New(cfg Config) *Service {
	s := &Service{cfg: cfg, policy: fmt.Sprintf(policy, strings.TrimSuffix(" "+cfg.Tiles.origin(), " "))}
	if cfg.Dir != "" {
		s.files = func() (*files, error) { return load(os.DirFS(cfg.Dir)) }
		return s
	}
	s.files = sync.OnceValues(func() (*files, error) {
		ui, err := fs.Sub(embedded, "ui")
		if err != nil {
			return nil, fmt.Errorf("open pages: %w", err)
		}
		return load(ui)
	})
	return s
}

// files are the files of the pages under the name of all of them together, so
// that a browser may keep each for ever.
type files struct {
	version string
	byName  map[string]*asset
	index   []byte
}

// asset is a file in the form in which it is sent.
type asset struct {
	media  string
	body   []byte
	packed func() []byte // gzip of it; nil when that is not smaller
}

// load reads the files of the pages.
func load(ui fs.FS) (*files, error) {
	f, sum := &files{byName: map[string]*asset{}}, sha256.New()
	err := fs.WalkDir(ui, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := fs.ReadFile(ui, name)
		if err != nil {
			return err
		}
		fmt.Fprintf(sum, "%s %d\n", name, len(body))
		_, _ = sum.Write(body) // never fails
		f.byName[name] = newAsset(name, body)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read pages: %w", err)
	}
	f.version = hex.EncodeToString(sum.Sum(nil))[:16]
	page := f.byName["index.html"]
	if page == nil {
		return nil, fmt.Errorf("read pages: %w", fs.ErrNotExist)
	}
	delete(f.byName, "index.html")
	var loads strings.Builder
	for _, name := range f.needed("main.js") {
		fmt.Fprintf(&loads, "<link rel=\"modulepreload\" href=\"/console/a/%s/%s\">\n", f.version, name)
	}
	f.index = []byte(strings.NewReplacer("{{version}}", f.version, "{{preload}}\n", loads.String()).Replace(string(page.body)))
	return f, nil
}

func newAsset(name string, body []byte) *asset {
	media := mime.TypeByExtension(path.Ext(name))
	switch path.Ext(name) { // not as the machine has it
	case ".js":
		media = "text/javascript; charset=utf-8"
	case ".css":
		media = "text/css; charset=utf-8"
	case ".svg":
		media = "image/svg+xml"
	case "":
		media = "text/plain; charset=utf-8"
	}
	return &asset{media: media, body: body, packed: sync.OnceValue(func() []byte {
		var out bytes.Buffer
		z, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // the level is a good one
		_, _ = z.Write(body)                                    // a buffer takes it all
		_ = z.Close()
		if out.Len() >= len(body) {
			return nil
		}
		return out.Bytes()
	})}
}

// imports finds what a module needs before it runs. What it loads later, by
// import(), is not among it.
var imports = regexp.MustCompile(`(?m)^(?:import|export)\b[^;]*?from\s+"([^"]+)"`)

// needed are the modules that one needs, itself first, each once.
func (f *files) needed(name string) []string {
	list := []string{name}
	for i := 0; i < len(list); i++ {
		a := f.byName[list[i]]
		if a == nil {
			continue
		}
		for _, m := range imports.FindAllSubmatch(a.body, -1) {
			if to := path.Join(path.Dir(list[i]), string(m[1])); !slices.Contains(list, to) {
				list = append(list, to)
			}
		}
	}
	return list
}
