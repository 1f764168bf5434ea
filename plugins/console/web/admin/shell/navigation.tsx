import { Button } from '@mantine/core'
import { IconLogout, IconSearch } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import { Link, useLocation } from 'wouter'
import { useSpeech } from '../../app/app.tsx'
import { Brand } from '../../app/brand.tsx'
import { Switches } from '../../app/switches.tsx'
import { useApi } from '../api/context.tsx'
import type { Navigation as NavigationView } from '../api/page-types.ts'
import classes from './navigation.module.css'
import { openPalette } from './palette.tsx'
import { logout } from './session-calls.ts'
import type { SessionState } from './session-state.ts'
import { useUnsaved } from './unsaved.ts'

interface NavigationProps {
  readonly navigation: NavigationView
  readonly username: string
  readonly session: SessionState
}

/** Brand, search, pages by their groups, the own account. */
export function Navigation({ navigation, username, session }: NavigationProps) {
  const { say } = useSpeech()
  const api = useApi()
  const [location] = useLocation()
  const signOut = useMutation({ mutationFn: () => api.call(logout), onSettled: () => session.leave() })
  const unsaved = useUnsaved()
  const current = location.split('/')[1] ?? ''
  return (
    <aside className={classes.side} aria-label={navigation.siteTitle}>
      <a className={classes.skip} href="#content">
        {say('admin.skip')}
      </a>
      <Link href="/" className={classes.brand}>
        <Brand />
      </Link>
      <Button
        className={classes.search}
        variant="default"
        size="sm"
        justify="space-between"
        leftSection={<IconSearch size={16} aria-hidden />}
        rightSection={<kbd className={classes.key}>Ctrl K</kbd>}
        onClick={openPalette}
      >
        {say('admin.palette.open')}
      </Button>
      <nav className={classes.pages} aria-label={say('admin.navigation')}>
        {navigation.groups.map(({ id, title, pages }) => (
          <div key={id}>
            <h2 className={classes.group}>{title}</h2>
            <ul>
              {pages.map((page) => (
                <li key={page.id}>
                  <Link
                    href={`/${page.id}`}
                    className={classes.page}
                    aria-current={page.id === current ? 'page' : undefined}
                  >
                    {page.title}
                    {unsaved.has(page.id) && (
                      <span className={classes.unsaved} title={say('admin.unsaved', { count: unsaved.get(page.id) })}>
                        <span className="visually-hidden">{say('admin.unsaved', { count: unsaved.get(page.id) })}</span>
                      </span>
                    )}
                  </Link>
                </li>
              ))}
            </ul>
          </div>
        ))}
      </nav>
      <div className={classes.foot}>
        <Switches />
        <div className={classes.account}>
          <span className={classes.name}>{username}</span>
          <Button
            variant="subtle"
            size="xs"
            color="gray"
            className={classes.leave}
            leftSection={<IconLogout size={16} aria-hidden />}
            loading={signOut.isPending}
            onClick={() => signOut.mutate()}
          >
            {say('admin.sign-out')}
          </Button>
        </div>
      </div>
    </aside>
  )
}
