import type { Plugin } from '@plinth/kernel'
import database from './database.ts'
import log from './log.ts'
import mail from './mail/index.ts'
import memory from './memory.ts'
import sms from './sms.ts'
import social from './social.ts'
import webhook from './webhook/index.ts'
import websocket from './websocket/index.ts'

export const notificationChannels: readonly Plugin[] = [database, log, mail, memory, sms, social, webhook, websocket]
