//! Readable names for sessions: an adjective and an animal, `brisk-otter`. The same id always gets
//! the same name, unless another session had it first.

use coven_model::SessionId;

/// What it may be like. The order is part of the names: add at the end only.
const ADJECTIVES: &str = "\
able agile airy alert amber ample apt arctic ashen autumn avid azure balmy bold brave \
breezy bright brisk bronze calm candid careful cedar cheery chilly civil clean clear \
clever cloudy coastal cobalt comfy cool copper coral cordial cosmic cosy crimson crisp \
curious dapper daring dawn deft dewy direct dizzy dusky eager early earnest easy elder \
ember even exact fair fancy fast fearless fern fine firm fleet floral fluent fond fresh \
frosty gallant gentle gilded glad gleaming golden graceful grand grateful green handy \
happy hardy hasty hazel hearty helpful hidden honest humble hushed icy indigo ivory jade \
jolly jovial keen kind lively loyal lucid lucky lunar maple marble mellow merry mighty \
mild mindful misty modest mossy muted nimble noble northern novel oaken olive open orderly \
patient pearly placid plain playful pleasant plucky polar polite prime prompt proud quick \
quiet radiant rapid ready regal restful rosy ruby rugged rustic sage sandy scarlet serene \
sharp shy silent silver simple sincere sleek smooth snowy snug solar solid southern spry \
stable steady stellar still sturdy subtle sunny supple sure swift tawny tender thrifty \
tidy timely tranquil trim trusty upbeat upland urban valiant velvet vernal vivid warm \
watchful wavy western wild willing windy winged wise witty wooden woolly young zealous \
zesty";

/// Who it may be. The order is part of the names: add at the end only.
const ANIMALS: &str = "\
aardvark adder albatross alpaca anchovy ant antelope ape armadillo auk avocet axolotl \
badger barbet bass bat bear beaver bee beetle bison bittern boar bobcat bongo bulbul \
bullfinch bunting buzzard camel canary caracal cardinal caribou carp cat catbird chamois \
cheetah chickadee chinchilla chough cicada civet clam cobra cod condor coot cormorant \
cougar coyote crab crane cricket crow cuckoo curlew deer dingo dipper dolphin donkey \
dormouse dove dragonfly duck dunlin eagle eel egret eider eland elk emu ermine falcon \
fennec ferret finch firefly flamingo flycatcher fox frog gannet gazelle gecko gibbon \
giraffe gnu goat goldfinch goose gopher goshawk grebe grouse guanaco gull hamster hare \
harrier hawk hedgehog heron hoopoe hornbill horse hoverfly hyena ibex ibis iguana impala \
jackal jackdaw jaguar jay kestrel kingfisher kite kiwi koala kudu lapwing lark lemming \
lemur leopard limpet linnet lion lizard llama lobster loon lynx macaw magpie mallard \
manatee marlin marmot marten martin meerkat merlin mink mole mongoose moose moth mouse \
mule muskox narwhal newt nightjar numbat nuthatch ocelot octopus okapi opossum orca oriole \
oryx osprey ostrich otter owl ox oyster panda pangolin panther parrot partridge peacock \
pelican penguin perch petrel pheasant pika pike pipit plover pony porpoise possum \
ptarmigan puffin puma quail quokka rabbit raccoon ram raven redstart reindeer robin rook \
salmon sandpiper seal serval shrew siskin skink skua skylark sloth snail snipe sparrow \
squid squirrel starling stoat stork sturgeon sunbird swallow swan tamarin tapir tern \
terrapin thrush tiger toad toucan trout turtle viper vole vulture wagtail walrus warbler \
waxwing weasel whale wigeon wolf wombat woodcock woodpecker wren yak zebra";

/// How many pairs are tried before a number is added.
const MAX_NAME_TRIES: u64 = 16;

/// The name of a session. `taken` tells whether another session has a name.
pub fn name(id: &SessionId, taken: impl Fn(&str) -> bool) -> String {
    let (adjectives, animals) = (words(ADJECTIVES), words(ANIMALS));
    let pair = |attempt: u64| {
        let number = hash(id.as_str(), attempt);
        let (low, high) = (number as u32 as usize, (number >> 32) as usize);
        format!("{}-{}", adjectives[low % adjectives.len()], animals[high % animals.len()])
    };
    if let Some(free) = (0..MAX_NAME_TRIES).map(pair).find(|name| !taken(name)) {
        return free;
    }
    let first = pair(0);
    // There are more numbers than sessions, so one of them is free.
    let mut numbered = (2_u64..).map(|number| format!("{first}-{number}"));
    numbered.find(|name| !taken(name)).unwrap_or(first)
}

fn words(list: &'static str) -> Vec<&'static str> {
    list.split(' ').collect()
}

/// FNV-1a, which will give the same names for ever, stirred so that all bits count.
fn hash(text: &str, attempt: u64) -> u64 {
    let bytes = text.bytes().chain(attempt.to_le_bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn id(number: u64) -> SessionId {
        SessionId::new(format!("01890a5d-ac96-774b-bcce-{number:012x}")).unwrap()
    }

    #[test]
    fn the_same_id_has_the_same_name_for_ever() {
        assert_eq!(name(&id(1), |_| false), "loyal-fox");
        assert_eq!(name(&id(2), |_| false), "urban-wagtail");
    }

    #[test]
    fn the_words_are_plain_and_each_stands_once() {
        for list in [ADJECTIVES, ANIMALS] {
            let words = words(list);
            assert!(words.len() > 150);
            assert_eq!(words.iter().collect::<HashSet<_>>().len(), words.len());
            assert!(words.iter().all(|word| word.bytes().all(|byte| byte.is_ascii_lowercase())));
        }
    }

    #[test]
    fn ten_thousand_sessions_have_ten_thousand_names_and_few_have_a_number() {
        let mut names: HashSet<String> = HashSet::new();
        for number in 0..10_000 {
            let name = name(&id(number), |name| names.contains(name));
            assert!(names.insert(name));
        }
        let numbered = names.iter().filter(|name| name.ends_with(|c: char| c.is_ascii_digit()));
        assert!(numbered.count() < 10);
    }

    #[test]
    fn when_every_pair_is_taken_a_number_makes_the_difference() {
        let name = name(&id(1), |name| !name.ends_with("-3"));
        assert_eq!(name, "loyal-fox-3");
    }
}
