package api

import "time"

// Simulation is a key press of a handset that exists only on a page, and what it
// showed. It happened on a line of its own: nothing of it reaches a customer.
type Simulation struct {
	SessionID     string             `json:"sessionId" doc:"Name of the call. Send it with the next input."`
	Simulated     bool               `json:"simulated" doc:"Always true."`
	PhoneNumber   string             `json:"phoneNumber" example:"+999000001"`
	ServiceCode   string             `json:"serviceCode" example:"*2233#"`
	Turn          int                `json:"turn" doc:"Inputs taken so far; the next one has the number after it."`
	Input         string             `json:"input" doc:"What was typed, dots in place of a PIN, a code or what may be one." example:"•••••"`
	Screen        string             `json:"screen" example:"Welcome to Hearth\n1. Know More"`
	End           bool               `json:"end" doc:"Whether the call is over."`
	Units         int                `json:"units" doc:"Characters of the screen as networks count them." example:"96"`
	Limit         int                `json:"limit" doc:"How many fit on one screen in this alphabet: 182 or fewer of GSM-7, 80 or fewer of UCS-2." example:"182"`
	GSM7          bool               `json:"gsm7" doc:"Whether all characters are of the GSM 7-bit alphabet. One that is not takes more than half of the screen away."`
	Ms            float64            `json:"ms" doc:"Milliseconds the line took." example:"1.4"`
	Node          string             `json:"node" doc:"Where in the menu the call stands." example:"login.pin"`
	State         string             `json:"state" doc:"Its documented state." example:"login"`
	Language      string             `json:"language" example:"en"`
	Menu          string             `json:"menu" doc:"The menu pack and its version." example:"hearth 3f2a91c0b7de"`
	Authenticated bool               `json:"authenticated" doc:"Whether somebody is logged in."`
	Secret        bool               `json:"secret" doc:"Whether the next input is a secret: show dots."`
	Messages      []SimulatedMessage `json:"messages" doc:"Short messages to the number since the input before. None was sent."`
	Dialog        string             `json:"dialog" doc:"The call so far as a dialog file, which hearth ussd replay plays. PINs and codes are values that whoever plays it gives."`
}

// SimulatedMessage is a short message that was shown and not sent.
type SimulatedMessage struct {
	Text string    `json:"text"`
	At   time.Time `json:"at"`
}

// Simulator is what handsets that exist only on a page can do.
type Simulator struct {
	FirstNumber  string   `json:"firstNumber" doc:"Numbers from here" example:"+999000000"`
	LastNumber   string   `json:"lastNumber" doc:"to here can be simulated: no network has them." example:"+999000999"`
	ServiceCodes []string `json:"serviceCodes" doc:"What can be dialled; the first is dialled by default."`
	Menu         string   `json:"menu" doc:"The menu pack and its version." example:"hearth 3f2a91c0b7de"`
	Languages    []string `json:"languages" doc:"Of the menu; the first is the usual one."`
}
