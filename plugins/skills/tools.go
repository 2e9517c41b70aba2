package skills

import (
	"context"
	"io/fs"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/plugin"
)

// about introduces the list of skills to the model.
const about = "Skills of the operator of this server. When one fits what the user wants, read it with load_skill before you begin, and do it that way as far as your rules and tools allow"

// tell lists the skills for the model, more briefly when there are many.
func tell(all []skill) (string, error) {
	if len(all) == 0 {
		return "", nil
	}
	for limit := maxDescription; ; limit /= 2 {
		short := slices.Clone(all)
		for i := range short {
			short[i].Description = cut(short[i].Description, limit)
		}
		text, err := plugin.Data(about, short)
		if err != nil || len(text) <= maxTold || limit == 0 {
			return text, err
		}
	}
}

func cut(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n])
	}
	return s
}

// Prompt tells the model which skills there are.
func (p *Plugin) Prompt(context.Context, plugin.Turn) (string, error) { return p.told, nil }

// RequestTools are the tools of the model: none if there are no skills.
func (p *Plugin) RequestTools(context.Context, plugin.Turn) []plugin.Tool { return p.tools }

// offer makes the tools that read skills.
func (p *Plugin) offer() []plugin.Tool {
	return []plugin.Tool{
		{
			Name: "load_skill", ReadOnly: true, Run: p.load, Output: loadedSchema,
			Description: "Read a skill of the operator by its name: how something is done here, and the names of the files beside it.",
			Schema:      `{"type":"object","additionalProperties":false,"required":["name"],"properties":{"name":{"type":"string","maxLength":64}}}`,
		},
		{
			Name: "read_skill_file", ReadOnly: true, Run: p.file, Output: partSchema,
			Description: "Read a text file that load_skill has named. A long one is read on with offset.",
			Schema:      `{"type":"object","additionalProperties":false,"required":["skill","path"],"properties":{"skill":{"type":"string","maxLength":64},"path":{"type":"string","maxLength":400},"offset":{"type":"integer","minimum":0,"description":"The next of the answer before."}}}`,
		},
	}
}

// What the tools give.
const (
	loadedSchema = `{"type":"object","required":["skill","from","text","files"],"properties":{"skill":{"type":"string"},"from":{"type":"string"},"text":{"type":"string"},"files":{"type":"array","items":{"type":"string"}}}}`
	partSchema   = `{"type":"object","required":["skill","path","from","text"],"properties":{"skill":{"type":"string"},"path":{"type":"string"},"from":{"type":"string"},"text":{"type":"string"},"next":{"type":"integer"}}}`
)

// loaded is what load_skill gives.
type loaded struct {
	Skill string   `json:"skill"`
	From  string   `json:"from"`
	Text  string   `json:"text"`
	Files []string `json:"files"`
}

// operator says whose words a skill is.
const operator = "the operator of this server"

func (p *Plugin) load(_ context.Context, call plugin.Call) (any, error) {
	var in struct {
		Name string `json:"name"`
	}
	if err := call.Read(&in); err != nil {
		return nil, err
	}
	s, err := p.find(in.Name)
	if err != nil {
		return nil, err
	}
	text, _, err := p.text(s.folder, skillFile, 0)
	if err != nil {
		return nil, plugin.Unavailable("The skill cannot be read: %s.", err)
	}
	_, body, ok := front(text)
	if !ok { // it was changed while the server runs
		return nil, plugin.Unavailable("The skill cannot be read: %s has no front matter any more.", skillFile)
	}
	return loaded{Skill: s.Name, From: operator, Text: body, Files: append([]string{}, p.files(s.folder)...)}, nil
}

// part is what read_skill_file gives.
type part struct {
	Skill string `json:"skill"`
	Path  string `json:"path"`
	From  string `json:"from"`
	Text  string `json:"text"`
	Next  int64  `json:"next,omitempty"` // offset of the rest
}

func (p *Plugin) file(_ context.Context, call plugin.Call) (any, error) {
	var in struct {
		Skill  string `json:"skill"`
		Path   string `json:"path"`
		Offset int64  `json:"offset"`
	}
	if err := call.Read(&in); err != nil {
		return nil, err
	}
	s, err := p.find(in.Skill)
	if err != nil {
		return nil, err
	}
	if !fs.ValidPath(in.Path) || hidden(in.Path) {
		return nil, plugin.Invalid("path must be one of the files that load_skill names")
	}
	text, left, err := p.text(s.folder, in.Path, in.Offset)
	if err != nil {
		return nil, plugin.Invalid("path: %s", err)
	}
	out := part{Skill: s.Name, Path: in.Path, From: operator, Text: text}
	if left > 0 {
		out.Next = in.Offset + int64(len(text))
	}
	return out, nil
}

// hidden reports whether a path leads to what load_skill does not name, such as the
// settings of a version control system.
func hidden(path string) bool {
	return strings.HasPrefix(path, ".") || strings.Contains(path, "/.")
}

func (p *Plugin) find(name string) (skill, error) {
	at := slices.IndexFunc(p.skills, func(s skill) bool { return s.Name == name })
	if at < 0 {
		return skill{}, plugin.Invalid("There is no skill of this name.")
	}
	return p.skills[at], nil
}
