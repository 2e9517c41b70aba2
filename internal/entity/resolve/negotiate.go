package resolve

import (
	"mime"
	"strconv"
	"strings"
)

// Media types of answers.
const (
	mediaJSON       = "application/json"
	mediaDID        = "application/did"
	mediaDIDJSON    = "application/did+json"
	mediaLD         = "application/did+ld+json"
	mediaResolution = "application/did-resolution"
	mediaResultLD   = "application/ld+json"
	// resultLD is the name of a result for universal resolvers.
	resultLD = `application/ld+json;profile="https://w3id.org/did-resolution"`
)

// maxAccept limits how much of an Accept header is read.
const maxAccept = 1024

// form is how an answer is sent.
type form struct {
	media    string
	document bool // the document alone, without the result around it
}

// negotiate picks the form for an Accept header. A client that names none of
// our forms gets otherwise if it accepts anything, else false.
func negotiate(accept string, otherwise form) (form, bool) {
	if accept == "" || len(accept) > maxAccept {
		return otherwise, true
	}
	best, found, weight := form{}, false, 0.0
	for part := range strings.SplitSeq(accept, ",") {
		media, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		q := 1.0
		if text, ok := params["q"]; ok {
			if q, err = strconv.ParseFloat(text, 64); err != nil {
				continue
			}
		}
		f, ok := formOf(media, params["profile"], otherwise)
		if ok && q > weight {
			best, found, weight = f, true, q
		}
	}
	return best, found
}

func formOf(media, profile string, otherwise form) (form, bool) {
	switch media {
	case mediaResolution:
		return form{media: mediaResolution}, true
	case mediaDID, mediaDIDJSON, mediaLD:
		return form{media: media, document: true}, true
	case mediaResultLD:
		if otherwise.document && !strings.Contains(profile, "did-resolution") {
			return form{media: mediaLD, document: true}, true
		}
		return form{media: resultLD}, true
	case mediaJSON:
		return form{media: mediaJSON, document: otherwise.document}, true
	case "*/*", "application/*":
		return otherwise, true
	}
	return form{}, false
}
