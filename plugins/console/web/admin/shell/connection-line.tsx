import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useSyncExternalStore } from 'react'
import { useLanguage } from '../../app/app.tsx'
import type { Connection } from '../api/call.ts'
import { useApi } from '../api/context.tsx'
import { ownAccount } from '../api/operations.ts'
import { formatsOf } from '../pages/formats.ts'
import classes from './connection-line.module.css'

const firstTryMs = 1_000
const tryMs = 5_000

interface ConnectionLineProps {
  readonly connection: Connection
  /** Time zone of the shown time. */
  readonly zone: string
}

/**
 * Shows since when the server has been unreachable. Calls the server until it responds, then reads all displayed data
 * again.
 */
export function ConnectionLine({ connection, zone }: ConnectionLineProps) {
  const { translate, language } = useLanguage()
  const api = useApi()
  const client = useQueryClient()
  const lostAt = useSyncExternalStore(connection.subscribe, connection.current)
  const isLost = lostAt !== undefined
  useEffect(() => {
    addEventListener('offline', connection.lose)
    return () => removeEventListener('offline', connection.lose)
  }, [connection])
  useEffect(() => {
    if (!isLost) return
    const leaving = new AbortController()
    const { signal } = leaving
    const reach = async () => {
      clearTimeout(timer)
      await api.call(ownAccount, { signal }).catch(() => {})
      if (!signal.aborted) timer = setTimeout(reach, tryMs)
    }
    let timer = setTimeout(reach, firstTryMs)
    addEventListener('online', reach, { signal })
    return () => {
      clearTimeout(timer)
      leaving.abort()
      void client.invalidateQueries()
    }
  }, [isLost, api, client])
  return (
    <p role="status" className={classes.line} hidden={!isLost}>
      {isLost && translate('admin.no-connection', { time: formatsOf(language, zone).clock(new Date(lostAt)) })}
    </p>
  )
}
