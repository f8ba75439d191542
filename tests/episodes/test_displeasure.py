"""Signs of displeasure in what users say, in English and Chinese; a third of what looks like one is none."""

import pytest

from core.episodes.displeasure import later_words, signs_of_displeasure

DISPLEASED = (
    "This is unacceptable.",
    "I'm really disappointed with how this is going.",
    "No, that's not what I asked for!",
    "I already told you my order number twice.",
    "You keep asking for the same thing.",
    "It still doesn't work.",
    "That's wrong, I said Tuesday.",
    "This is a waste of time",
    "I'm not happy with that answer.",
    "Honestly, this isn't helpful at all.",
    "How many times do I have to explain this?",
    "I want to speak to your supervisor.",
    "Could you connect me with a human agent?",
    "Is there someone else I can talk to?",
    "Are you kidding me?",
    "I wasn't upset before, but now I'm furious.",
    "You are not listening to me",
    "Your answer makes no sense.",
    "I am going to file a complaint about this",
    "WHAT A TERRIBLE SERVICE",
    "Thanks for nothing, you just made it worse.",
    "I’m fed up with these questions",
    "You cancelled the wrong booking!!",
    "Look, I have explained this three times now.",
    "That was not my question.",
    "Please read my message before you answer.",
    "Nothing you suggested works",
    "I don't think you are even trying",
    "太让人失望了。",
    "你这回答等于没说",
    "请不要再让我重复一遍",
    "我都说了三遍了，订单号是 88123！",
    "你们这是什么态度？",
    "还是不行，又报错了。",
    "这不是我要的结果。",
    "我要投诉你们。",
    "简直是浪费时间",
    "答非所问",
    "我对这个处理结果很不满意。",
    "转人工！",
    "你根本没听懂我的意思",
    "太离谱了，等了两个小时还没解决。",
    "这个客服真差劲",
)
CONTENT = (
    # negated
    "I am not upset, take your time.",
    "Don't worry, I'm not angry.",
    "I was never disappointed with you.",
    "That isn't a joke, by the way, it is my real name.",
    "No, it is not ridiculous at all.",
    "我没有生气，只是想问一下。",
    "别生气，我再等等就好。",
    "我不是不满意，只是想换个颜色。",
    "其实也不算太差。",
    "Nothing you need to fix, it works.",
    # quoted
    'The page says "this request is unacceptable" in red.',
    "My boss called it “a terrible idea”, can you check it?",
    "屏幕上写着“垃圾文件”，要不要删？",
    # something else is meant
    "No problem, thank you!",
    "Not bad!",
    "In the worst case we take the later flight.",
    "Sorry, that was a stupid question of mine.",
    "I'm terrible at directions.",
    "An awful lot of mail arrived today.",
    "没问题，谢谢。",
    "不错，就这样吧。",
    "垃圾邮件怎么过滤？",
    "这张券我还没用过。",
    "I'm sorry, I gave you the wrong number",
    "That doesn't work for my schedule, is there a later one?",
    "None of those options work for me since they leave before 11.",
    # possible only, or somebody else's
    "If it is wrong, tell me.",
    "I hope you are not going to be disappointed.",
    "I would be upset to lose the seat.",
    "My wife is upset about the weather.",
    "如果不满意可以退货吗？",
    "客户很生气，要求今天发货。",
    # an answer to the agent's offer
    "Yes, please transfer me to a human agent.",
    "好的，帮我转人工吧。",
    # nothing of the kind
    "My user ID is mia_li_3668.",
    "Neither of those options works for me as I don't want to fly before 11 AM.",
    "That's all I needed, thanks.",
    "请把收货地址改成新的。",
    "",
)


@pytest.mark.parametrize("text", DISPLEASED)
def test_displeasure_is_noticed(text: str) -> None:
    assert signs_of_displeasure(text)


@pytest.mark.parametrize("text", CONTENT)
def test_what_only_looks_like_displeasure_is_not(text: str) -> None:
    assert signs_of_displeasure(text) == []


def test_signs_are_told_as_they_were_written() -> None:
    assert signs_of_displeasure("This is Ridiculous, and still not working. 太差了") == [
        "Ridiculous",
        "not working",
        "太差",
    ]


def test_the_task_and_what_others_say_are_not_the_users_verdict() -> None:
    messages = [
        {"role": "system", "content": "Angry users are handed over."},
        {"role": "user", "content": "I am furious: my parcel is lost."},
        {"role": "assistant", "content": "That is unacceptable."},
        {"role": "tool", "content": "terrible"},
        {"role": "user", "content": [{"type": "text", "text": "Thank you."}]},
        {"role": "user", "content": None},
    ]
    assert later_words(messages) == ["Thank you."]
