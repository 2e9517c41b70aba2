package chat

// emojiTable are the shortcodes that people and models use, each between two spaces.
const emojiTable = " " + faces + hands + hearts + nature + food + places + things + signs

const faces = "smile=😄 smiley=😃 grinning=😀 grin=😁 laughing=😆 satisfied=😆 sweat_smile=😅 joy=😂 rofl=🤣 slightly_smiling_face=🙂 upside_down_face=🙃 " +
	"wink=😉 blush=😊 innocent=😇 heart_eyes=😍 star_struck=🤩 kissing_heart=😘 kissing=😗 yum=😋 stuck_out_tongue=😛 stuck_out_tongue_winking_eye=😜 " +
	"zany_face=🤪 hugs=🤗 hugging_face=🤗 thinking=🤔 thinking_face=🤔 shushing_face=🤫 zipper_mouth_face=🤐 raised_eyebrow=🤨 neutral_face=😐 expressionless=😑 " +
	"no_mouth=😶 smirk=😏 unamused=😒 roll_eyes=🙄 grimacing=😬 relieved=😌 pensive=😔 sleepy=😪 sleeping=😴 mask=😷 face_with_thermometer=🤒 sneezing_face=🤧 " +
	"hot_face=🥵 cold_face=🥶 dizzy_face=😵 exploding_head=🤯 cowboy_hat_face=🤠 partying_face=🥳 sunglasses=😎 nerd_face=🤓 confused=😕 worried=😟 " +
	"slightly_frowning_face=🙁 open_mouth=😮 hushed=😯 astonished=😲 flushed=😳 pleading_face=🥺 fearful=😨 cold_sweat=😰 cry=😢 sob=😭 scream=😱 " +
	"disappointed=😞 sweat=😓 weary=😩 tired_face=😫 yawning_face=🥱 triumph=😤 rage=😡 pout=😡 angry=😠 smiling_imp=😈 skull=💀 poop=💩 hankey=💩 clown_face=🤡 " +
	"ghost=👻 alien=👽 robot=🤖 robot_face=🤖 see_no_evil=🙈 hear_no_evil=🙉 speak_no_evil=🙊 "

const hands = "wave=👋 raised_hand=✋ hand=✋ vulcan_salute=🖖 ok_hand=👌 pinching_hand=🤏 v=✌️ crossed_fingers=🤞 love_you_gesture=🤟 metal=🤘 call_me_hand=🤙 " +
	"point_left=👈 point_right=👉 point_up=☝️ point_up_2=👆 point_down=👇 +1=👍 thumbsup=👍 -1=👎 thumbsdown=👎 fist=✊ facepunch=👊 punch=👊 clap=👏 " +
	"raised_hands=🙌 open_hands=👐 handshake=🤝 pray=🙏 writing_hand=✍️ muscle=💪 eyes=👀 eye=👁️ brain=🧠 ear=👂 baby=👶 boy=👦 girl=👧 man=👨 woman=👩 " +
	"older_man=👴 older_woman=👵 family=👪 farmer=🧑‍🌾 cook=🧑‍🍳 teacher=🧑‍🏫 scientist=🧑‍🔬 technologist=🧑‍💻 shrug=🤷 facepalm=🤦 raising_hand=🙋 bow=🙇 " +
	"runner=🏃 running=🏃 walking=🚶 dancer=💃 busts_in_silhouette=👥 bust_in_silhouette=👤 footprints=👣 "

const hearts = "heart=❤️ red_heart=❤️ orange_heart=🧡 yellow_heart=💛 green_heart=💚 blue_heart=💙 purple_heart=💜 black_heart=🖤 white_heart=🤍 brown_heart=🤎 " +
	"broken_heart=💔 two_hearts=💕 sparkling_heart=💖 heartpulse=💗 heartbeat=💓 revolving_hearts=💞 cupid=💘 gift_heart=💝 kiss=💋 100=💯 boom=💥 collision=💥 " +
	"dizzy=💫 sweat_drops=💦 dash=💨 zzz=💤 speech_balloon=💬 thought_balloon=💭 anger=💢 "

const nature = "dog=🐶 cat=🐱 mouse=🐭 rabbit=🐰 fox_face=🦊 bear=🐻 panda_face=🐼 tiger=🐯 lion=🦁 cow=🐮 pig=🐷 frog=🐸 monkey_face=🐵 monkey=🐒 chicken=🐔 " +
	"penguin=🐧 bird=🐦 hatching_chick=🐣 eagle=🦅 owl=🦉 horse=🐴 unicorn=🦄 bee=🐝 honeybee=🐝 bug=🐛 butterfly=🦋 snail=🐌 ant=🐜 turtle=🐢 snake=🐍 octopus=🐙 fish=🐟 " +
	"whale=🐳 dolphin=🐬 elephant=🐘 goat=🐐 sheep=🐑 camel=🐫 giraffe=🦒 seedling=🌱 herb=🌿 four_leaf_clover=🍀 leaves=🍃 fallen_leaf=🍂 maple_leaf=🍁 deciduous_tree=🌳 " +
	"evergreen_tree=🌲 palm_tree=🌴 cactus=🌵 ear_of_rice=🌾 bouquet=💐 tulip=🌷 rose=🌹 sunflower=🌻 blossom=🌼 cherry_blossom=🌸 hibiscus=🌺 mushroom=🍄 " +
	"earth_africa=🌍 earth_americas=🌎 earth_asia=🌏 globe_with_meridians=🌐 sun_with_face=🌞 sunny=☀️ partly_sunny=⛅ cloud=☁️ rain_cloud=🌧️ cloud_with_rain=🌧️ " +
	"zap=⚡ snowflake=❄️ snowman=⛄ fire=🔥 droplet=💧 ocean=🌊 rainbow=🌈 umbrella=☔ star=⭐ star2=🌟 sparkles=✨ crescent_moon=🌙 full_moon=🌕 new_moon=🌑 wind_face=🌬️ tornado=🌪️ "

const food = "apple=🍎 green_apple=🍏 banana=🍌 tangerine=🍊 orange=🍊 lemon=🍋 watermelon=🍉 grapes=🍇 strawberry=🍓 cherries=🍒 peach=🍑 mango=🥭 pineapple=🍍 coconut=🥥 " +
	"avocado=🥑 tomato=🍅 eggplant=🍆 carrot=🥕 corn=🌽 hot_pepper=🌶️ potato=🥔 onion=🧅 garlic=🧄 peanuts=🥜 bread=🍞 cheese=🧀 egg=🥚 cooking=🍳 fried_egg=🍳 rice=🍚 curry=🍛 " +
	"stew=🍲 shallow_pan_of_food=🥘 pizza=🍕 hamburger=🍔 fries=🍟 spaghetti=🍝 cookie=🍪 cake=🍰 birthday=🎂 chocolate_bar=🍫 candy=🍬 honey_pot=🍯 coffee=☕ tea=🍵 " +
	"milk_glass=🥛 beer=🍺 beers=🍻 clinking_glasses=🥂 wine_glass=🍷 cup_with_straw=🥤 fork_and_knife=🍴 spoon=🥄 "

const places = "house=🏠 house_with_garden=🏡 hut=🛖 houses=🏘️ office=🏢 school=🏫 hospital=🏥 factory=🏭 bank=🏦 tent=⛺ mountain=⛰️ camping=🏕️ desert=🏜️ sunrise=🌅 " +
	"world_map=🗺️ round_pushpin=📍 pushpin=📌 car=🚗 taxi=🚕 bus=🚌 truck=🚚 tractor=🚜 bike=🚲 motorcycle=🏍️ motor_scooter=🛵 train=🚆 airplane=✈️ rocket=🚀 " +
	"ship=🚢 boat=⛵ sailboat=⛵ ambulance=🚑 fire_engine=🚒 fuelpump=⛽ construction=🚧 rotating_light=🚨 traffic_light=🚥 anchor=⚓ checkered_flag=🏁 "

const things = "watch=⌚ alarm_clock=⏰ hourglass=⌛ hourglass_flowing_sand=⏳ stopwatch=⏱️ iphone=📱 phone=☎️ telephone=☎️ telephone_receiver=📞 computer=💻 keyboard=⌨️ " +
	"printer=🖨️ camera=📷 video_camera=📹 tv=📺 radio=📻 battery=🔋 electric_plug=🔌 bulb=💡 flashlight=🔦 candle=🕯️ wood=🪵 bricks=🧱 thermometer=🌡️ hammer=🔨 " +
	"wrench=🔧 hammer_and_wrench=🛠️ tools=🛠️ gear=⚙️ nut_and_bolt=🔩 link=🔗 chains=⛓️ magnet=🧲 test_tube=🧪 microscope=🔬 telescope=🔭 satellite=📡 pill=💊 syringe=💉 " +
	"broom=🧹 basket=🧺 soap=🧼 bucket=🪣 key=🔑 old_key=🗝️ lock=🔒 unlock=🔓 closed_lock_with_key=🔐 shield=🛡️ bell=🔔 no_bell=🔕 loudspeaker=📢 mega=📣 moneybag=💰 dollar=💵 " +
	"euro=💶 credit_card=💳 coin=🪙 receipt=🧾 chart=💹 chart_with_upwards_trend=📈 chart_with_downwards_trend=📉 bar_chart=📊 clipboard=📋 calendar=📅 date=📅 memo=📝 pencil=📝 " +
	"pencil2=✏️ pen=🖊️ book=📖 books=📚 notebook=📓 newspaper=📰 page_facing_up=📄 page_with_curl=📃 file_folder=📁 open_file_folder=📂 card_index=📇 paperclip=📎 " +
	"straight_ruler=📏 scissors=✂️ mag=🔍 mag_right=🔎 email=📧 envelope=✉️ incoming_envelope=📨 inbox_tray=📥 outbox_tray=📤 package=📦 mailbox=📫 wastebasket=🗑️ " +
	"tada=🎉 confetti_ball=🎊 balloon=🎈 gift=🎁 trophy=🏆 1st_place_medal=🥇 2nd_place_medal=🥈 3rd_place_medal=🥉 medal=🏅 soccer=⚽ basketball=🏀 dart=🎯 game_die=🎲 " +
	"musical_note=🎵 notes=🎶 microphone=🎤 headphones=🎧 guitar=🎸 art=🎨 crown=👑 gem=💎 ring=💍 shopping_cart=🛒 bed=🛏️ chair=🪑 door=🚪 shower=🚿 toilet=🚽 "

const signs = "white_check_mark=✅ heavy_check_mark=✔️ ballot_box_with_check=☑️ x=❌ heavy_multiplication_x=✖️ negative_squared_cross_mark=❎ heavy_plus_sign=➕ heavy_minus_sign=➖ " +
	"question=❓ grey_question=❔ exclamation=❗ heavy_exclamation_mark=❗ grey_exclamation=❕ bangbang=‼️ interrobang=⁉️ warning=⚠️ no_entry=⛔ no_entry_sign=🚫 stop_sign=🛑 " +
	"information_source=ℹ️ recycle=♻️ arrow_up=⬆️ arrow_down=⬇️ arrow_left=⬅️ arrow_right=➡️ arrow_upper_right=↗️ arrow_lower_right=↘️ leftwards_arrow_with_hook=↩️ " +
	"arrow_right_hook=↪️ arrows_counterclockwise=🔄 repeat=🔁 fast_forward=⏩ rewind=⏪ arrow_forward=▶️ pause_button=⏸️ red_circle=🔴 orange_circle=🟠 yellow_circle=🟡 green_circle=🟢 " +
	"large_blue_circle=🔵 blue_circle=🔵 purple_circle=🟣 white_circle=⚪ black_circle=⚫ small_blue_diamond=🔹 small_orange_diamond=🔸 large_blue_diamond=🔷 new=🆕 free=🆓 up=🆙 cool=🆒 ok=🆗 sos=🆘 id=🆔 " +
	"top=🔝 soon=🔜 on=🔛 end=🔚 back=🔙 zero=0️⃣ one=1️⃣ two=2️⃣ three=3️⃣ four=4️⃣ five=5️⃣ six=6️⃣ seven=7️⃣ eight=8️⃣ nine=9️⃣ keycap_ten=🔟 infinity=♾️ " +
	"peace_symbol=☮️ medical_symbol=⚕️ copyright=©️ registered=®️ tm=™️ flag_white=🏳️ white_flag=🏳️ kenya=🇰🇪 uganda=🇺🇬 tanzania=🇹🇿 rwanda=🇷🇼 zambia=🇿🇲 malawi=🇲🇼 south_africa=🇿🇦 nigeria=🇳🇬 ghana=🇬🇭 ethiopia=🇪🇹 india=🇮🇳 "
