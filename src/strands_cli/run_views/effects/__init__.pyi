from strands_cli.run_views.effects.whole_effect import Asked as Asked
from strands_cli.run_views.effects.whole_effect import CalledTool as CalledTool
from strands_cli.run_views.effects.whole_effect import WholeEffect as WholeEffect
from strands_cli.run_views.effects.whole_effect import effect_of as effect_of
