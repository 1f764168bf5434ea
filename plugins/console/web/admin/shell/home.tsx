import { Button } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { Link } from 'wouter'
import { siteName, useLanguage } from '../../app/app.tsx'
import type { Account } from '../api/operations.ts'
import type { Navigation } from '../api/page-types.ts'
import { OverviewFigures, StateTiles } from '../overview/overview.tsx'
import { AttentionList } from './attention.tsx'
import classes from './home.module.css'
import { useUserPreferences } from './kept-context.ts'
import type { SessionState } from './session/session-state.ts'
import { SignOut } from './session/sign-out.tsx'
import { useSite } from './site-context.ts'

interface HomeProps {
  readonly account: Account | undefined
  readonly session: SessionState
}

/** The first page: is something wrong, what needs attention, how is the business, and the pages of the user. */
export function Home({ account, session }: HomeProps) {
  const { translate } = useLanguage()
  const { siteTitle, groups } = useSite()
  useEffect(() => {
    document.title = siteName
  }, [])
  if (account !== undefined && (account.permissions.length === 0 || groups.length === 0))
    return <NothingGranted {...{ account, session, groups }} />
  return (
    <>
      <h1 className={classes.title}>{siteTitle}</h1>
      <p className={classes.lead}>{translate('admin.home.lead')}</p>
      <StateTiles />
      <AttentionList />
      <OverviewFigures />
      <ChosenPages groups={groups} />
    </>
  )
}

/** Message for a user without permissions, for example after the first sign-in with a wallet. */
function NothingGranted({
  account: { username },
  session,
  groups,
}: {
  readonly account: Account
  readonly session: SessionState
  readonly groups: Navigation['groups']
}) {
  const { translate } = useLanguage()
  const client = useQueryClient()
  return (
    <>
      <h1 className={classes.title}>{translate('admin.home.none.title')}</h1>
      <p className={classes.lead}>{translate('admin.home.none.lead', { username })}</p>
      <div className={classes.ways}>
        <Button onClick={() => void client.invalidateQueries()}>{translate('admin.reload')}</Button>
        <SignOut session={session} variant="default" />
      </div>
      <Groups groups={groups} />
    </>
  )
}

/** Favourite and recent pages of this user. */
function ChosenPages({ groups }: Pick<Navigation, 'groups'>) {
  const { translate } = useLanguage()
  const { favourites, recent } = useUserPreferences()
  const known = new Map(groups.flatMap(({ pages }) => pages.map((page) => [page.id, page])))
  const pagesOf = (ids: readonly string[]) => ids.flatMap((id) => known.get(id) ?? [])
  const lists = [
    { id: 'favourites', title: translate('admin.favourites.title'), pages: pagesOf(favourites) },
    { id: 'recent', title: translate('admin.recent'), pages: pagesOf(recent) },
  ]
  return <Groups groups={lists.filter(({ pages }) => pages.length > 0)} />
}

const Groups = ({ groups }: Pick<Navigation, 'groups'>) => (
  <div className={classes.groups}>
    {groups.map(({ id, title, pages }) => (
      <section key={id} className={classes.group}>
        <h2>{title}</h2>
        <ul>
          {pages.map((page) => (
            <li key={page.id}>
              <Link href={`/${page.id}`}>{page.title}</Link>
            </li>
          ))}
        </ul>
      </section>
    ))}
  </div>
)
