package form

import "github.com/hearth-dmrv/hearth/internal/cel"

// media are the kinds whose answer names a file that was sent.
var media = []*Kind{
	file(Kind{Type: Photo, Recorded: true, XLSForm: XLSForm{Word: "image", Reads: []string{"image"}}, XForm: XForm{Accept: "image/*"}}),
	file(Kind{Type: Audio, Recorded: true, XLSForm: XLSForm{Word: "audio", Reads: []string{"audio"}}, XForm: XForm{Accept: "audio/*"}}),
	file(Kind{Type: File, XLSForm: XLSForm{Word: "file", Reads: []string{"file", "video"}}, XForm: XForm{Accept: "application/*"}}),
	file(Kind{Type: Signature, Recorded: true, Personal: true, XLSForm: XLSForm{Word: "image", Appearance: "signature"}, XForm: XForm{Accept: "image/*"}}),
}

// file is a kind with what all files have in common.
func file(k Kind) *Kind {
	k.Media, k.NoAnswer, k.Quality.Apart = true, true, true
	k.XForm.Type, k.XForm.Control = "binary", "upload"
	k.CEL, k.read, k.want, k.value = cel.Text, (*answering).string, wantFile, written
	return &k
}

func wantFile(s string) string {
	if !attachment(s) {
		return "the hash of an attachment: sha256: and 64 lower-case hexadecimal digits"
	}
	return ""
}

func attachment(s string) bool {
	const prefix = "sha256:"
	if len(s) != len(prefix)+64 || s[:len(prefix)] != prefix {
		return false
	}
	for i := len(prefix); i < len(s); i++ {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
