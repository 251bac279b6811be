"""English words that start or end no name, though they may be written with a capital."""

COMMON_WORDS = frozenset(
    """
    a about absolutely actually after again all also although always am amazing an and another any
    anything appreciate are as at aww awesome be because been before being believe both btw but by bye
    can can't check cheers congrats congratulations cool could definitely did didn't do does doesn't
    doing don't done during each either else even ever every everyone everything exactly few first for
    from glad going gonna good got gotta great had haha has have haven't having he he'll her here hers
    hey hi him his hope hopefully hoping how however i i'd i'll i'm i've if image in indeed into is
    isn't it it'll it's its just keep last later let let's like long look looking looks lots love many
    may maybe me might mine more most much must my need never next nice no none nope not nothing now of
    oh ok okay on once one only oof or other our ours over perhaps plus please really same second see
    seeing several she should since so some someone something sometimes soon sorry sounds still such
    sure take taking talk tell than thank thankfully thanks that that's the their theirs them then there
    these they they'll they're they've things third this those though three through to today together
    tomorrow totally trying two under unfortunately until us very wanna was wasn't way we we'll we're
    we've well were what what's when where whether which while who whom whose why will wish with without
    woah woohoo would wow yay yeah yep yes yesterday yet you you'll you're you've your yours yup
    january february march april june july august september october november december
    monday tuesday wednesday thursday friday saturday sunday
    """.split()  # noqa: SIM905
)
