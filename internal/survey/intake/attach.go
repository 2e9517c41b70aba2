package intake

import (
	"archive/zip"
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/exchange"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/file"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/media"
)

// fileMark stands before the name of a file of the archive in a cell, until its
// hash is known.
const fileMark = "file:"

// hashes finds the attachments that answers name.
var hashes = regexp.MustCompile(`sha256:[0-9a-f]{64}`)

// types are the media types of files by the ends of their names.
var types = map[string]string{
	".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".png": "image/png", ".webp": "image/webp", ".mp3": "audio/mpeg", ".ogg": "audio/ogg", ".oga": "audio/ogg",
	".m4a": "audio/mp4", ".amr": "audio/amr", ".wav": "audio/wav", ".mp4": "video/mp4", ".3gp": "video/3gpp", ".pdf": "application/pdf", ".txt": "text/plain",
}

// hashNames puts hashes in place of the names of files that a file of another
// program has in its cells.
func (in *input) hashNames(c *form.Cells, id string, notes *[]fault.Field) error {
	for column, value := range c.Values {
		name, ok := strings.CutPrefix(value, fileMark)
		if !ok {
			continue
		}
		f := in.fileOf(id, path.Base(name))
		if f == nil {
			delete(c.Values, column)
			*notes = append(*notes, fault.Field{Pointer: in.columnOf(column), Code: "attachment_missing", Detail: fmt.Sprintf("The archive has no file %q: the answer is left out.", fault.Echo(name))})
			continue
		}
		hash, err := in.hash(f)
		if err != nil {
			return err
		}
		c.Values[column] = "sha256:" + hash
		in.files["sha256:"+hash] = f
	}
	for _, list := range c.Entries {
		for _, e := range list {
			if err := in.hashNames(e, id, notes); err != nil {
				return err
			}
		}
	}
	return nil
}

// attach notes a file of the archive. Several may have a name, each in the folder
// of its submission.
func (in *input) attach(f *zip.File) {
	base := path.Base(f.Name)
	if _, taken := in.files[base]; taken {
		in.files[base] = nil
	} else {
		in.files[base] = f
	}
	in.files[path.Base(path.Dir(f.Name))+"/"+base] = f
	if in.p.Source == Hearth {
		in.files["sha256:"+strings.TrimSuffix(base, path.Ext(base))] = f
	}
}

// fileOf finds the file that a submission names: the one in its own folder, else
// the only one of the name; nil when there is none.
func (in *input) fileOf(id, base string) *zip.File {
	for _, folder := range []string{strings.TrimPrefix(id, "uuid:"), strings.ReplaceAll(id, ":", "")} {
		if f := in.files[folder+"/"+base]; f != nil {
			return f
		}
	}
	return in.files[base]
}

// hash is the SHA-256 of a file of the archive. The fault is FILE_INVALID.
// It is read once: many answers can name the same file.
func (in *input) hash(f *zip.File) (string, error) {
	if hash := in.hashed[f]; hash != "" {
		return hash, nil
	}
	r, err := f.Open()
	if err != nil {
		return "", notReadable(f)
	}
	defer r.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, io.LimitReader(r, media.MaxBytes+1)); err != nil {
		return "", notReadable(f)
	}
	hash := hex.EncodeToString(sum.Sum(nil))
	if in.hashed == nil {
		in.hashed = map[*zip.File]string{}
	}
	in.hashed[f] = hash
	return hash, nil
}

func notReadable(f *zip.File) error {
	return fault.New(fault.Invalid, "FILE_INVALID", fmt.Sprintf("The file %q of the archive cannot be read.", fault.Echo(f.Name)))
}

// receive stores the attachments of a response that the archive has. A file that
// is not what its name says is a warning, and what the archive does not have may
// be sent later.
func (w *worker) receive(ctx context.Context, r *row) (stored int64, err error) {
	if len(w.in.files) == 0 {
		return 0, nil
	}
	for _, name := range hashes.FindAllString(string(r.draft.Responses.Value), -1) {
		f := w.in.files[name]
		if f == nil {
			continue
		}
		if note, ok := w.received[f]; ok { // for another answer
			if note != nil {
				r.notes = append(r.notes, *note)
			}
			continue
		}
		body, err := f.Open()
		if err != nil {
			return stored, notReadable(f)
		}
		whole, kind := typed(body, types[strings.ToLower(path.Ext(f.Name))])
		caller := w.in.caller
		_, fresh, err := w.s.cfg.Media.Receive(ctx, &media.File{
			Workspace: caller.Workspace, SHA256: strings.TrimPrefix(name, "sha256:"), MediaType: kind, Sender: caller.DID,
		}, whole)
		_ = body.Close() // it was only read
		if bad := exchange.Refusal(err); bad != nil && bad.Kind != fault.TooMany {
			note := fault.Field{Pointer: fault.Echo(f.Name), Code: strings.ToLower(bad.Code), Detail: bad.Message}
			w.received[f] = &note
			r.notes = append(r.notes, note)
			continue
		} else if err != nil {
			return stored, err
		}
		w.received[f] = nil
		if fresh {
			stored++
		}
	}
	return stored, nil
}

// typed detects the type of a file: the one its name says if its first bytes agree,
// and otherwise the one they show.
func typed(body io.Reader, named string) (whole io.Reader, kind string) {
	in := bufio.NewReader(body)
	head, _ := in.Peek(512) // what cannot be read fails where it is stored
	if named != "" && file.Fits(named, head) {
		return in, named
	}
	return in, cmp.Or(file.Sniff(head), "application/octet-stream")
}
