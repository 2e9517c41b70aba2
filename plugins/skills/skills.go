// Package skills is the plugin skills: folders in which the operator describes
// how things are done here. Each has a file SKILL.md with a name, a description
// and a text, and may hold other files. The model is told the names and
// descriptions, and reads the rest with tools when it needs it.
//
// A folder with mistakes stops the start, and the error names every such folder.
// Nothing outside a skill's folder is ever read, not even through a link, and the
// amount read is bounded. A skill is only text: it gives no right and permits no
// tool.
package skills

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"

	"github.com/hearth-dmrv/hearth/plugin"
)

// Limits of the plugin.
const (
	maxSkills      = 100
	maxDescription = 1024     // characters
	maxFile        = 48 << 10 // bytes of a file that are read at once
	maxFiles       = 200      // of a skill
	maxDepth       = 5        // folders in folders
	maxTold        = 7 << 10  // bytes told to the model before each answer
)

// skillFile is the file that makes a folder a skill.
const skillFile = "SKILL.md"

var namePattern = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// skill is one folder.
type skill struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	folder      string
}

// Plugin is the plugin skills.
type Plugin struct {
	root   *os.Root // nil: no folder is set
	skills []skill
	told   string
	tools  []plugin.Tool // none where there are no skills
}

var (
	_ plugin.Settings     = (*Plugin)(nil)
	_ plugin.Checks       = (*Plugin)(nil)
	_ plugin.Starts       = (*Plugin)(nil)
	_ plugin.Closes       = (*Plugin)(nil)
	_ plugin.Prompts      = (*Plugin)(nil)
	_ plugin.RequestTools = (*Plugin)(nil)
)

// New makes the plugin.
func New() *Plugin { return &Plugin{} }

// Manifest describes the plugin.
func (p *Plugin) Manifest() plugin.Manifest {
	return plugin.Manifest{
		Name: "skills", Version: "1.0.0", Title: "Skills", Summary: "Knows how the operator wants things done, from folders with SKILL.md.",
		WhenToUse: []string{"A skill that the model was told of fits what the user wants."},
		Tags:      []string{"skills"}, Visibility: plugin.Always,
	}
}

// Settings are what an operator decides.
func (p *Plugin) Settings() []plugin.Setting {
	return []plugin.Setting{{Name: "directory", Doc: "Folder whose folders are skills, each with a SKILL.md. Empty: there are none."}}
}

// Check reads the skills without keeping them.
func (p *Plugin) Check(settings plugin.Values) error {
	found := New()
	if err := found.open(settings); err != nil || found.root == nil {
		return err
	}
	return found.root.Close()
}

// Start reads the names and descriptions of the skills.
func (p *Plugin) Start(_ context.Context, host plugin.Host) error { return p.open(host.Settings) }

func (p *Plugin) open(settings plugin.Values) (err error) {
	dir := settings.Text("directory")
	if dir == "" {
		return nil
	}
	if p.root, err = os.OpenRoot(dir); err != nil {
		return fmt.Errorf("directory: %w", err)
	}
	if err = p.look(); err == nil {
		p.told, err = tell(p.skills)
	}
	if len(p.skills) > 0 {
		p.tools = p.offer()
	}
	if err != nil {
		return errors.Join(err, p.root.Close())
	}
	return nil
}

// Close closes the folder.
func (p *Plugin) Close(context.Context) error {
	if p.root == nil {
		return nil
	}
	return p.root.Close()
}

// look reads all folders. The error names every one that is not a skill.
func (p *Plugin) look() error {
	entries, err := fs.ReadDir(p.root.FS(), ".")
	if err != nil {
		return fmt.Errorf("directory: %w", err)
	}
	var bad []error
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		s, err := p.read(e.Name())
		if err == nil && slices.ContainsFunc(p.skills, func(o skill) bool { return o.Name == s.Name }) {
			err = fmt.Errorf("the name %s is taken by another folder", s.Name)
		}
		if err != nil {
			bad = append(bad, fmt.Errorf("skill folder %q: %w", e.Name(), err))
			continue
		}
		p.skills = append(p.skills, s)
	}
	if len(p.skills) > maxSkills {
		bad = append(bad, fmt.Errorf("directory: there are %d skills, at most %d can be", len(p.skills), maxSkills))
	}
	return errors.Join(bad...)
}

// read reads what the SKILL.md of a folder says about it.
func (p *Plugin) read(folder string) (skill, error) {
	text, rest, err := p.text(folder, skillFile, 0)
	if err != nil {
		return skill{}, fmt.Errorf("%s: %w", skillFile, err)
	}
	if rest > 0 {
		return skill{}, fmt.Errorf("%s has more than %d bytes", skillFile, maxFile)
	}
	head, _, ok := front(text)
	if !ok {
		return skill{}, fmt.Errorf("%s must begin with front matter between two lines of ---", skillFile)
	}
	s := skill{folder: folder}
	var about struct {
		Name        string `yaml:"name"`
		Description string `yaml:"description"`
	}
	if err := yaml.Unmarshal([]byte(head), &about); err != nil {
		return skill{}, fmt.Errorf("%s: the front matter is no YAML with a name and a description", skillFile)
	}
	s.Name, s.Description = about.Name, strings.Join(strings.Fields(about.Description), " ")
	switch {
	case len(s.Name) > 64 || !namePattern.MatchString(s.Name):
		return skill{}, fmt.Errorf("name: want lower-case words and digits with hyphens between them, at most 64 characters")
	case s.Description == "" || utf8.RuneCountInString(s.Description) > maxDescription:
		return skill{}, fmt.Errorf("description: want 1 to %d characters", maxDescription)
	}
	return s, nil
}

// front divides a SKILL.md into its front matter and its text.
func front(text string) (head, body string, ok bool) {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\uFEFF"), "\r\n", "\n")
	rest, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return "", "", false
	}
	head, body, ok = strings.Cut(rest, "\n---\n")
	if !ok { // nothing stands behind it
		head, ok = strings.CutSuffix(rest, "\n---")
	}
	return head, strings.TrimSpace(body), ok
}

// text reads a text file of a folder from a place on, and how many bytes are left.
func (p *Plugin) text(folder, name string, offset int64) (text string, left int64, err error) {
	root, err := p.root.OpenRoot(folder)
	if err != nil {
		return "", 0, errors.New("the folder cannot be read")
	}
	defer root.Close()
	about, err := root.Stat(name)
	switch {
	case err != nil:
		return "", 0, errors.New("there is no such file")
	case !about.Mode().IsRegular():
		return "", 0, errors.New("it is not a file")
	}
	f, err := root.Open(name)
	if err != nil {
		return "", 0, errors.New("it cannot be read")
	}
	defer f.Close()
	raw, err := io.ReadAll(io.NewSectionReader(f, offset, maxFile))
	if err != nil {
		return "", 0, errors.New("it cannot be read")
	}
	left = max(about.Size()-offset-int64(len(raw)), 0)
	if left > 0 { // a character at the end may be divided
		for i := 0; i < utf8.UTFMax && len(raw) > 0 && !utf8.Valid(raw[max(len(raw)-utf8.UTFMax, 0):]); i++ {
			raw, left = raw[:len(raw)-1], left+1
		}
	}
	if !utf8.Valid(raw) || strings.ContainsRune(string(raw), 0) {
		return "", 0, errors.New("it is not text in UTF-8")
	}
	return string(raw), left, nil
}

// files are the other files of a folder.
func (p *Plugin) files(folder string) []string {
	root, err := p.root.OpenRoot(folder)
	if err != nil {
		return nil
	}
	defer root.Close()
	var out []string
	_ = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil || len(out) == maxFiles:
			return fs.SkipAll
		case strings.HasPrefix(path.Base(name), ".") && name != ".", e.IsDir() && strings.Count(name, "/") >= maxDepth:
			if e.IsDir() {
				return fs.SkipDir
			}
		case e.Type().IsRegular() && name != skillFile:
			out = append(out, name)
		}
		return nil
	})
	return out
}
