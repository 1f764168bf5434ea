import approval from '@plinth/approval'
import asyncTask from '@plinth/async-task'
import authenticators from '@plinth/authenticators'
import backup from '@plinth/backup'
import consolePages from '@plinth/console'
import consoleAdmin from '@plinth/console/admin'
import iam from '@plinth/iam'
import accountRecovery from '@plinth/iam/recovery'
import verificationCodes from '@plinth/iam/verification'
import idempotency from '@plinth/idempotency'
import install from '@plinth/install'
import type { Plugin } from '@plinth/kernel'
import openPlatform from '@plinth/open-platform'
import rateLimit from '@plinth/rate-limit'
import { rateLimitStores } from '@plinth/rate-limit-stores'
import signInOidc from '@plinth/sign-in-oidc'
import systemConfig from '@plinth/system-config'
import systemConfigAdmin from '@plinth/system-config/admin'
import template from '@plinth/template'
import webhooks from '@plinth/webhooks'

/** Accounts, permissions, limits, configuration, the installer and the back office. Requires `platform`. */
export const operations: readonly Plugin[] = [
  iam,
  accountRecovery,
  verificationCodes,
  authenticators,
  signInOidc,
  rateLimit,
  ...rateLimitStores,
  systemConfig,
  systemConfigAdmin,
  idempotency,
  openPlatform,
  webhooks,
  approval,
  asyncTask,
  template,
  backup,
  install,
  consolePages,
  consoleAdmin,
]
