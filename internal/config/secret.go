package config

import "log/slog"

// mask stands in for every secret that would be shown.
const mask = "****"

// Secret is text that must not be shown. Every way of printing it gives
// "****", or nothing when it is empty; Reveal gives the text itself.
type Secret string

var _ slog.LogValuer = Secret("")

// Reveal is the secret itself.
func (s Secret) Reveal() string { return string(s) }

// String is the mask.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return mask
}

// GoString is the mask, so that %#v does not show the secret either.
func (s Secret) GoString() string { return s.String() }

// LogValue is the mask.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText is the mask, so that JSON and YAML do not show the secret.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
