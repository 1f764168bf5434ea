import approval from '@plinth/approval'
import asyncTask from '@plinth/async-task'
import consolePages from '@plinth/console'
import consoleAdmin from '@plinth/console/admin'
import database from '@plinth/database'
import events from '@plinth/events'
import http from '@plinth/http'
import i18n from '@plinth/i18n'
import iam from '@plinth/iam'
import verificationCodes from '@plinth/iam/verification'
import idempotency from '@plinth/idempotency'
import install from '@plinth/install'
import { defineProduct } from '@plinth/kernel'
import mail from '@plinth/mail'
import memberPoints from '@plinth/member-points'
import money from '@plinth/money'
import payments from '@plinth/money/payments'
import notification from '@plinth/notification'
import inbox from '@plinth/notification/inbox'
import notificationRules from '@plinth/notification/rules'
import databaseChannel from '@plinth/notification-channels/database'
import logChannel from '@plinth/notification-channels/log'
import mailChannel from '@plinth/notification-channels/mail'
import memoryChannel from '@plinth/notification-channels/memory'
import smsChannel from '@plinth/notification-channels/sms'
import socialChannel from '@plinth/notification-channels/social'
import webhookChannel from '@plinth/notification-channels/webhook'
import websocketChannel from '@plinth/notification-channels/websocket'
import notificationLinkage from '@plinth/notification-linkage'
import openPlatform from '@plinth/open-platform'
import outgoingHttp from '@plinth/outgoing-http'
import quickstartCleanup from '@plinth/quickstart-cleanup'
import rateLimit from '@plinth/rate-limit'
import localTokenBucket from '@plinth/rate-limit-stores/local-token-bucket'
import memoryStore from '@plinth/rate-limit-stores/memory'
import sharedBucket from '@plinth/rate-limit-stores/shared-bucket'
import sharedWindow from '@plinth/rate-limit-stores/shared-window'
import scheduler from '@plinth/scheduler'
import sharedStore from '@plinth/shared-store'
import sms from '@plinth/sms'
import social from '@plinth/social'
import storage from '@plinth/storage'
import systemConfig from '@plinth/system-config'
import systemConfigAdmin from '@plinth/system-config/admin'
import template from '@plinth/template'
import walletLogin from '@plinth/wallet-login'
import web3 from '@plinth/web3'
import web3Settlement from '@plinth/web3-settlement'
import bark from '@plinth/webhook-providers/bark'
import dingtalk from '@plinth/webhook-providers/dingtalk'
import discord from '@plinth/webhook-providers/discord'
import feishu from '@plinth/webhook-providers/feishu'
import generic from '@plinth/webhook-providers/generic'
import googleChat from '@plinth/webhook-providers/google-chat'
import gotify from '@plinth/webhook-providers/gotify'
import mattermost from '@plinth/webhook-providers/mattermost'
import ntfy from '@plinth/webhook-providers/ntfy'
import pushplus from '@plinth/webhook-providers/pushplus'
import rocketchat from '@plinth/webhook-providers/rocketchat'
import serverchan from '@plinth/webhook-providers/serverchan'
import slack from '@plinth/webhook-providers/slack'
import teams from '@plinth/webhook-providers/teams'
import telegram from '@plinth/webhook-providers/telegram'
import wecom from '@plinth/webhook-providers/wecom'
import mall from '@plinth-example/mall'

export default defineProduct({
  name: 'quickstart',
  plugins: [
    approval,
    asyncTask,
    consolePages,
    consoleAdmin,
    database,
    events,
    http,
    i18n,
    iam,
    idempotency,
    install,
    mail,
    mall,
    memberPoints,
    money,
    payments,
    notification,
    inbox,
    notificationRules,
    databaseChannel,
    logChannel,
    mailChannel,
    memoryChannel,
    smsChannel,
    socialChannel,
    webhookChannel,
    websocketChannel,
    notificationLinkage,
    openPlatform,
    outgoingHttp,
    quickstartCleanup,
    rateLimit,
    localTokenBucket,
    memoryStore,
    sharedBucket,
    sharedWindow,
    scheduler,
    sharedStore,
    sms,
    social,
    storage,
    systemConfig,
    systemConfigAdmin,
    template,
    walletLogin,
    web3,
    web3Settlement,
    verificationCodes,
    ...[
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
    ],
  ],
  config: { 'platform.rate-limit.default-store': 'shared-window' },
})
