import type { Plugin } from '@plinth/kernel'
import bark from './bark.ts'
import dingtalk from './dingtalk.ts'
import discord from './discord.ts'
import feishu from './feishu.ts'
import generic from './generic.ts'
import googleChat from './google-chat.ts'
import gotify from './gotify.ts'
import mattermost from './mattermost.ts'
import ntfy from './ntfy.ts'
import pushplus from './pushplus.ts'
import rocketchat from './rocketchat.ts'
import serverchan from './serverchan.ts'
import slack from './slack.ts'
import teams from './teams.ts'
import telegram from './telegram.ts'
import wecom from './wecom.ts'

/** All webhook providers. */
export const webhookProviders: readonly Plugin[] = [
  bark,
  dingtalk,
  discord,
  feishu,
  generic,
  googleChat,
  gotify,
  mattermost,
  ntfy,
  pushplus,
  rocketchat,
  serverchan,
  slack,
  teams,
  telegram,
  wecom,
]
