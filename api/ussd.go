package api

import "time"

// Simulation is a key press of a handset that exists only on a page, and the
// resulting screen. It happens on a separate line: none of it reaches a
// customer.
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

// Simulator says what simulated handsets can do.
type Simulator struct {
	FirstNumber  string   `json:"firstNumber" doc:"Numbers from here" example:"+999000000"`
	LastNumber   string   `json:"lastNumber" doc:"to here can be simulated: no network has them." example:"+999000999"`
	ServiceCodes []string `json:"serviceCodes" doc:"What can be dialled; the first is dialled by default."`
	Menu         string   `json:"menu" doc:"The menu pack and its version." example:"hearth 3f2a91c0b7de"`
	Languages    []string `json:"languages" doc:"Of the menu; the first is the usual one."`
}

// Menu is the menu pack of the line as a graph, with what lint says and what
// happened at each node.
type Menu struct {
	Pack      string        `json:"pack" example:"hearth"`
	Version   string        `json:"version" example:"3f2a91c0b7de"`
	Languages []string      `json:"languages" doc:"The first is the usual one."`
	Language  string        `json:"language" doc:"Of the texts here."`
	Start     string        `json:"start" doc:"The node a call begins at."`
	Since     string        `json:"since,omitzero" doc:"Day from which counts are summed." example:"2026-10-18"`
	Nodes     []MenuNode    `json:"nodes"`
	Findings  []MenuFinding `json:"findings" doc:"What lint says about the pack as a whole."`
	Errors    int           `json:"errors" doc:"Findings that are errors, also of nodes."`
	Warnings  int           `json:"warnings"`
}

// MenuNode is one place in a menu.
type MenuNode struct {
	ID       string        `json:"id" example:"login.pin"`
	State    string        `json:"state" doc:"Its documented state." example:"login"`
	Kind     string        `json:"kind" enum:"menu,input,do,end" doc:"Shows options, asks for a text, does something without a screen, or closes."`
	Text     string        `json:"text" doc:"What the screen says, or the action."`
	Secret   bool          `json:"secret,omitzero" doc:"Whether the answer is one."`
	Depth    int           `json:"depth" doc:"Fewest steps from the start; -1 cannot be reached."`
	Ways     []MenuWay     `json:"ways"`
	Findings []MenuFinding `json:"findings"`
	Visits   int64         `json:"visits" doc:"How often its screen was shown."`
	Refused  int64         `json:"refused" doc:"How often what was typed there was no answer."`
	Dropped  int64         `json:"dropped" doc:"Calls that fell silent there, or that the caller ended there."`
}

// MenuWay is a way from one node to another.
type MenuWay struct {
	Key   string `json:"key,omitzero" doc:"What is typed, or the result of the action." example:"2"`
	To    string `json:"to" example:"accountMenu"`
	Back  bool   `json:"back,omitzero"`
	Label string `json:"label,omitzero" doc:"Of an option." example:"Account Menu"`
}

// MenuFinding is a finding of lint.
type MenuFinding struct {
	Level    string `json:"level" enum:"error,warning"`
	Language string `json:"language,omitzero" doc:"Absent when it holds in all of them."`
	Text     string `json:"text"`
	Line     int    `json:"line,omitzero" doc:"Where the node begins in the file that was sent."`
}

// MenuCheck is the result of checking a menu pack that is not in use.
type MenuCheck struct {
	OK       bool          `json:"ok" doc:"Whether the line could use it: there is no problem and no error."`
	Problems []MenuProblem `json:"problems" doc:"What keeps it from being used, in the order of the file."`
	Menu     *Menu         `json:"menu,omitzero" doc:"The pack as it would be, without counts. Absent when there are problems."`
	Findings []MenuFinding `json:"findings" doc:"What lint says, of the pack and of all nodes."`
}

// MenuProblem is a mistake in the file of a menu pack.
type MenuProblem struct {
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Path   string `json:"path,omitzero" example:"nodes.login.to"`
	Text   string `json:"text"`
}

// Call is a call to the line that is over.
type Call struct {
	ID          string     `json:"id"`
	SessionID   string     `json:"sessionId" doc:"What the gateway called it."`
	PhoneNumber string     `json:"phoneNumber" doc:"Without entities:pii only how it begins and ends." example:"+254•••••01"`
	Withheld    bool       `json:"withheld,omitzero" doc:"Whether the number and what was typed are masked, for want of entities:pii."`
	Gateway     string     `json:"gateway,omitzero" doc:"Absent for the documented interface."`
	ServiceCode string     `json:"serviceCode"`
	Menu        string     `json:"menu" doc:"The menu pack and its version."`
	Language    string     `json:"language"`
	Node        string     `json:"node" doc:"Where it ended." example:"login.pin"`
	Ending      string     `json:"ending" enum:"ended,hung_up,expired" doc:"By a closing screen, by the caller or the network, or because nobody typed any more."`
	Simulated   bool       `json:"simulated,omitzero" doc:"Of a handset that does not exist."`
	StartedAt   time.Time  `json:"startedAt"`
	EndedAt     time.Time  `json:"endedAt" doc:"Of one that expired: when something was typed last."`
	Inputs      int        `json:"inputs" doc:"How many answers were typed; at most 63 are kept."`
	Steps       []CallStep `json:"steps,omitzero" doc:"When the call itself is read, not in lists."`
	Dialog      string     `json:"dialog,omitzero" doc:"The call as a dialog file, which hearth ussd replay plays. When the call itself is read."`
}

// CallStep is one key press of a call; the first is the dial.
type CallStep struct {
	Input   string  `json:"input" doc:"What was typed: dots for a PIN, a code, or what may be one, and without entities:pii for all that is no key."`
	Masked  bool    `json:"masked,omitzero"`
	Node    string  `json:"node" doc:"Where it led."`
	AfterMs int64   `json:"afterMs" doc:"Milliseconds since the call began."`
	Ms      float64 `json:"ms" doc:"Milliseconds until the screen was there."`
}

// Customer is a customer of the line as support staff see them. It never contains
// the PIN.
type Customer struct {
	CustomerID   string    `json:"customerId" example:"C7K2M9QXA"`
	Name         string    `json:"name,omitzero" doc:"Absent without entities:pii."`
	Email        string    `json:"email,omitzero" doc:"Absent without entities:pii."`
	PhoneNumber  string    `json:"phoneNumber" doc:"Without entities:pii only how it begins and ends." example:"+254•••••01"`
	Withheld     bool      `json:"withheld,omitzero" doc:"Whether name, email and number are withheld, for want of entities:pii."`
	Language     string    `json:"language" example:"en"`
	DID          string    `json:"did" doc:"The twin of the customer."`
	HouseholdDID string    `json:"householdDid,omitzero"`
	District     string    `json:"district,omitzero"`
	Size         int64     `json:"size,omitzero" doc:"People in the household; absent until it is registered."`
	Status       string    `json:"status" enum:"active,closed"`
	Twins        string    `json:"twins" enum:"none,pending,ready,failed" doc:"How far the twins of the customer and the household have come."`
	TemporaryPIN bool      `json:"temporaryPin,omitzero" doc:"The PIN must be changed at the next login."`
	WrongPINs    int64     `json:"wrongPins" doc:"Wrong PINs since the last right one."`
	Blocked      bool      `json:"blocked" doc:"Nobody logs in until it is unlocked."`
	LockedUntil  time.Time `json:"lockedUntil,omitzero" doc:"Of a lock that opens by itself."`
	Held         bool      `json:"held" doc:"Its number is kept out, because the card may be somebody else's."`
	HeldUntil    time.Time `json:"heldUntil,omitzero" doc:"Absent when the number is held until it is released."`
	CreatedAt    time.Time `json:"createdAt"`
	UpdatedAt    time.Time `json:"updatedAt"`
}

// AccountChange is what was done to an account, or to a number.
type AccountChange struct {
	Action       string    `json:"action" enum:"unlock,hold,release,reset,close"`
	Changed      bool      `json:"changed" doc:"False when there was nothing to release."`
	Account      *Customer `json:"account,omitzero" doc:"As it is now. Absent when a number was named."`
	TemporaryPIN string    `json:"temporaryPin,omitzero" doc:"Of a reset whose PIN could not be sent, or was not to be. It is shown once."`
	Sent         bool      `json:"sent,omitzero" doc:"Whether the temporary PIN is on its way to the number of the account."`
}

// LockedNumber is a phone number that is locked after wrong PINs, or held.
type LockedNumber struct {
	PhoneNumber string    `json:"phoneNumber"`
	WrongPINs   int64     `json:"wrongPins"`
	Until       time.Time `json:"until,omitzero" doc:"Absent when it must be opened by hand."`
	Held        bool      `json:"held" doc:"Because its card was changed; otherwise because of wrong PINs."`
}

// ShortMessage is the record of a message of the line, without its text and its
// recipient.
type ShortMessage struct {
	ID         string    `json:"id"`
	Status     string    `json:"status" enum:"queued,sent,failed"`
	Attempts   int       `json:"attempts"`
	ProviderID string    `json:"providerId,omitzero" doc:"What the provider calls it."`
	Error      string    `json:"error,omitzero" doc:"Why it was not sent the last time."`
	CreatedAt  time.Time `json:"createdAt"`
	UpdatedAt  time.Time `json:"updatedAt"`
}

// Press is a key press to simulate.
type Press struct {
	SessionID   string `json:"sessionId,omitzero" doc:"The call to type an answer in; without one a call begins." maxLength:"64"`
	PhoneNumber string `json:"phoneNumber,omitzero" doc:"Number of the handset when a call begins: +999000000 to +999000999." example:"+999000001"`
	ServiceCode string `json:"serviceCode,omitzero" doc:"What is dialled when a call begins; the first code of the line by default." example:"*2233#"`
	Turn        int    `json:"turn,omitzero" doc:"Number of the answer, from 1. Sent twice, it counts once." minimum:"0"`
	Input       string `json:"input,omitzero" doc:"The answer. It is never logged."`
}
