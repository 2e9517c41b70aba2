package template

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/sheet"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/xlsform"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const (
	mediaForm = "multipart/form-data"
	mediaZIP  = "application/zip"

	maxParts  = 2 * form.MaxFiles // of an import
	maxImport = MaxFile + 2*form.MaxAllFiles
)

const (
	insertFile    = `INSERT INTO template_files (ws, sha256, created_at, data) VALUES ($1, $2, $3, $4) ON CONFLICT (ws, sha256) DO NOTHING`
	selectFile    = `SELECT data FROM template_files WHERE ws = $1 AND sha256 = $2`
	selectFileUse = `SELECT sha256 FROM template_file_uses WHERE ws = $1 AND template_id = $2 AND version = $3`
	insertFileUse = `INSERT INTO template_file_uses (ws, template_id, version, sha256) VALUES ($1, $2, $3, $4) ON CONFLICT (ws, template_id, version, sha256) DO NOTHING`
	deleteFileUse = `DELETE FROM template_file_uses WHERE ws = $1 AND template_id = $2 AND version = $3 AND sha256 = $4`
	deleteFile    = `DELETE FROM template_files WHERE ws = $1 AND sha256 = $2
		AND NOT EXISTS (SELECT 1 FROM template_file_uses u WHERE u.ws = $1 AND u.sha256 = $2)`
)

// attach gives the files of a template their content, as far as the workspace
// has it. What is missing is named when the template is compiled. The fault is
// TEMPLATE_INVALID when they pass the limits.
func attach(ctx context.Context, q db.Querier, ws string, t *form.Template) error {
	return t.Attach(func(sha256 string) ([]byte, error) {
		var data []byte
		err := q.QueryRow(ctx, selectFile, ws, sha256).Scan(&data)
		return db.Found(data, err, "find file of template")
	})
}

// keepFiles stores the contents of a version's files, each once, and removes
// those that no version uses any more. It is called without files for a version
// that was removed.
func (s *Service) keepFiles(ctx context.Context, tx *db.Tx, ws string, v *Version, files []form.DataFile) error {
	rows, err := tx.Query(ctx, selectFileUse, ws, v.TemplateID, v.Version)
	before, err := db.Collect(rows, err, "list files of template", func(s *string, row db.Row) error { return row.Scan(s) })
	if err != nil || len(before) == 0 && len(files) == 0 {
		return err
	}
	// Whoever counts the uses of a content must not miss one that is on its way.
	if err := s.events.TakeTurn(ctx, tx, ws); err != nil {
		return err
	}
	kept := map[string]bool{}
	for i := range files {
		f := &files[i]
		kept[f.SHA256] = true
		if _, err := tx.Exec(ctx, insertFile, ws, f.SHA256, v.Updated.UnixMilli(), f.Content()); err != nil {
			return fmt.Errorf("insert file of template: %w", err)
		}
		if _, err := tx.Exec(ctx, insertFileUse, ws, v.TemplateID, v.Version, f.SHA256); err != nil {
			return fmt.Errorf("insert use of file: %w", err)
		}
	}
	for _, sum := range before {
		if kept[sum] {
			continue
		}
		if _, err := tx.Exec(ctx, deleteFileUse, ws, v.TemplateID, v.Version, sum); err != nil {
			return fmt.Errorf("delete use of file: %w", err)
		}
		if _, err := tx.Exec(ctx, deleteFile, ws, sum); err != nil {
			return fmt.Errorf("delete file of template: %w", err)
		}
	}
	return nil
}

// stored returns the files of a template's newest version, none when there is
// no such template.
func (s *Service) stored(ctx context.Context, ws, id string) ([]form.DataFile, error) {
	if id == "" || shipped().find(id, 0) != nil {
		return nil, nil
	}
	e, err := s.latest(ctx, ws, id, 0)
	if fault.As(err) != nil {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return e.v.Files, nil
}

// sent is the input of an import: a template, and its files.
type sent struct {
	media  string
	body   []byte
	files  map[string][]byte
	sha256 string
}

// receive reads the body of an import: the template itself, or a form with a
// part for it and one for each file.
func receive(w http.ResponseWriter, r *http.Request) (*sent, error) {
	media, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		media = ""
	}
	most := int64(MaxFile)
	if media == mediaForm {
		most = maxImport
	}
	body, err := web.ReadBody(w, r, most)
	if err != nil {
		return nil, err
	}
	s := &sent{media: media, body: body, files: map[string][]byte{}}
	if media == mediaForm {
		if err := s.parts(body, params["boundary"]); err != nil {
			return nil, err
		}
	}
	s.sha256 = s.sum()
	return s, nil
}

func badPart(name, code, detail string) error {
	return fault.New(fault.Invalid, "TEMPLATE_IMPORT_INVALID", "The form cannot be read.").With(fault.Field{Pointer: "/" + name, Code: code, Detail: detail})
}

// parts takes a form apart. The template is the part called form, or else the
// only one that is a workbook or JSON.
func (s *sent) parts(body []byte, boundary string) error {
	in := multipart.NewReader(bytes.NewReader(body), boundary)
	main := ""
	for n := 0; ; n++ {
		p, err := in.NextPart()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return badPart("", "invalid", "The form is not valid multipart/form-data.")
		}
		data, err := io.ReadAll(p)
		name := filepath.Base(strings.ReplaceAll(p.FileName(), `\`, "/"))
		switch {
		case err != nil:
			return badPart(p.FormName(), "invalid", "The part ends too early.")
		case p.FileName() == "":
			return badPart(p.FormName(), "required", "The part has no file name.")
		case s.files[name] != nil:
			return badPart(p.FormName(), "duplicate", "Two parts have the file name "+name+".")
		case n >= maxParts:
			return badPart(p.FormName(), "too_many", fmt.Sprintf("A form has at most %d parts.", maxParts))
		case len(data) > MaxFile:
			return badPart(p.FormName(), "too_large", fmt.Sprintf("The file %s has more than %d bytes.", name, MaxFile))
		case p.FormName() == "form":
			main = name
		}
		s.files[name] = append([]byte{}, data...)
	}
	if main == "" {
		var found []string
		for name := range s.files {
			if ext := strings.ToLower(filepath.Ext(name)); ext == ".xlsx" || ext == ".json" {
				found = append(found, name)
			}
		}
		if len(found) != 1 {
			return badPart("form", "required", "Name the part with the workbook form, and the others as you like: -F form=@form.xlsx -F file=@villages.csv.")
		}
		main = found[0]
	}
	s.body, s.media = s.files[main], mediaXLSX
	if !bytes.HasPrefix(s.body, []byte("PK")) {
		s.media = mediaJSON
		if text := bytes.TrimLeft(s.body, "\ufeff \t\r\n"); !bytes.HasPrefix(text, []byte("{")) {
			return badPart("form", "unsupported", "The part form has the workbook (.xlsx) or the template (JSON), and "+main+" is neither. "+
				"Files that it names are in parts of their own: -F form=@form.xlsx -F file=@villages.csv.")
		}
	}
	delete(s.files, main)
	return nil
}

// sum is the hash of all that was sent: that of the template where it came alone.
func (s *sent) sum() string {
	h := sha256.New()
	h.Write(s.body)
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		sum := sha256.Sum256(s.files[name])
		fmt.Fprintf(h, "\x00%s\x00%x", name, sum)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// attachSent gives a template in JSON the files that were sent with it, each to
// the first that names it. That there are too many, or two of a name, is said
// when the template is compiled.
func (s *sent) attachSent(t *form.Template) error {
	var c fault.Checks
	if len(t.Files) > form.MaxFiles {
		return nil
	}
	seen := map[string]bool{}
	for i := range t.Files {
		raw, ok := s.files[t.Files[i].Name]
		if !ok || seen[t.Files[i].Name] {
			continue
		}
		seen[t.Files[i].Name] = true
		f, err := form.ReadFile(t.Files[i].Name, raw)
		at := fmt.Sprintf("/files/%d", i)
		switch {
		case err != nil:
			c.Add(at, "invalid", err.Error())
		case t.Files[i].SHA256 != "" && t.Files[i].SHA256 != f.SHA256:
			c.Add(at+"/sha256", "mismatch", "The file that was sent has another hash.")
		default:
			t.Files[i] = *f
		}
	}
	return c.Err("TEMPLATE_IMPORT_INVALID", "A file cannot be accepted.")
}

// beside combines the files sent with a workbook and those that the template
// has already.
func (s *sent) beside(stored []form.DataFile) xlsform.Beside {
	return xlsform.Beside{Files: s.files, Stored: stored}
}

// serveFiles sends the files of a version as an archive. It has no dates, so that
// the same files are the same archive.
func (h handlers) serveFiles(w http.ResponseWriter, r *http.Request) error {
	return h.serveFile(w, r, mediaZIP, "-files.zip", func(e *entry) ([]byte, error) {
		var archive bytes.Buffer
		z := zip.NewWriter(&archive)
		for i := range e.v.Files {
			out, err := z.CreateHeader(&zip.FileHeader{Name: e.v.Files[i].Name, Method: zip.Deflate, Modified: sheet.ZipTime()})
			if err == nil {
				_, err = out.Write(e.v.Files[i].Content())
			}
			if err != nil {
				return nil, fmt.Errorf("pack file of template: %w", err)
			}
		}
		err := z.Close()
		return archive.Bytes(), err
	})
}
