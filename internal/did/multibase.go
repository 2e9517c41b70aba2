package did

import "encoding/base64"

// EncodeMultibase encodes b in base 58, the notation of proofs and keys: "z…".
func EncodeMultibase(b []byte) string { return "z" + base58(b) }

// DecodeMultibase reads a text in base 58 ("z…") or in URL-safe base 64 without
// padding ("u…"), the two that credentials use. It returns ErrSyntax for any other.
func DecodeMultibase(s string) ([]byte, error) {
	if s == "" {
		return nil, ErrSyntax
	}
	switch s[0] {
	case 'z':
		return unbase58(s[1:])
	case 'u':
		b, err := base64.RawURLEncoding.Strict().DecodeString(s[1:])
		if err != nil {
			return nil, ErrSyntax
		}
		return b, nil
	}
	return nil, ErrSyntax
}
