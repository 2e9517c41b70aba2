package api

import "time"

// CollectAddressDraft asks for an address for a phone with ODK Collect.
type CollectAddressDraft struct {
	Name      string    `json:"name" minLength:"1" doc:"Name of the key, and of the project on the phone." example:"Phone of the Kitui team"`
	Collector string    `json:"collector,omitzero" doc:"DID of the collector; a new one is made without it." example:"did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"`
	Projects  []string  `json:"projects,omitzero" doc:"Only surveys of these projects, by DID."`
	ExpiresAt time.Time `json:"expiresAt,omitzero" doc:"When the address ends; it does not by default."`
	Origin    string    `json:"origin,omitzero" doc:"Address of this server as phones reach it; HEARTH_PUBLIC_URL by default." example:"https://hearth.example.org"`
}

// CollectAddress is an address for a phone with ODK Collect. It is shown once.
type CollectAddress struct {
	KeyID     string `json:"keyId" doc:"Id of its key: revoke that to end it."`
	Collector string `json:"collector" doc:"DID that surveys name as a collector."`
	URL       string `json:"url" doc:"Address of the server in Collect. It holds the secret."`
	Settings  string `json:"settings" doc:"Settings of Collect as its QR codes hold them: JSON, packed with zlib, in base64."`
	QR        *QR    `json:"qr" doc:"The settings as a QR code."`
}

// String leaves the secret out, so that printing the value does not reveal it.
func (a CollectAddress) String() string { return a.KeyID }
